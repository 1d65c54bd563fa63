/** What GitLab is told of a run: the status of its commits, over HTTP, by a server that refuses what GitLab refuses. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { deployedForges } from '../../lib/forge/deployed.ts'
import { asLoopError } from '../../lib/loop/errors.ts'
import { tell } from '../../lib/loop/tell.ts'
import { FakeWorkspaces } from '../support/fake-workspace.ts'
import { driveUntil } from '../support/drive.ts'
import { deploymentOf, HEAD, invocationOf, makePorts } from '../support/ports.ts'
import { aRun } from '../support/runs.ts'

const URL_OF = 'https://gitlab.example/team/project'
const TOKEN = 'glpat-aaaaaaaaaaaaaaaaaaaa'

interface Status {
  id: number
  sha: string
  name: string
  status: string
  ref: string | null
  description: string
}

let server: Server
let statuses: Status[]
let calls: string[]
let fault: (call: string, count: number) => number | 'lost' | null
let apiUrl: string
let secret: string | null

beforeEach(async () => {
  ;[statuses, calls, fault, secret] = [[], [], () => null, TOKEN]
  server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const [path = '', query = ''] = (request.url ?? '').split('?')
      const call = `${request.method} ${path}`
      const wanted = fault(call, calls.length)
      calls.push(call)
      const answer = (code: number, value: unknown) => {
        if (wanted === 'lost') return void request.socket.destroy()
        response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(value))
      }
      if (typeof wanted === 'number') return answer(wanted, { message: 'a fault' })
      if (request.headers['private-token'] !== TOKEN) return answer(401, { message: '401 Unauthorized' })
      const sha = path.match(/[0-9a-f]{40}/)?.[0] ?? ''
      const name = new URLSearchParams(query).get('name')
      if (request.method === 'GET')
        return answer(
          200,
          statuses.filter((status) => status.sha === sha && status.name === name),
        )
      const {
        state,
        name: given,
        ref = null,
        description,
      } = JSON.parse(body) as { state: string; name: string; ref?: string; description: string }
      const before = statuses.find((status) => status.sha === sha && status.name === given)
      if (before?.status === state) return answer(400, { message: `Cannot transition status via :${state} from :${state}` })
      const status = { id: before?.id ?? statuses.length + 1, sha, name: given, status: state, ref, description }
      if (before) Object.assign(before, status)
      else statuses.push(status)
      answer(201, { ...status, target_url: null })
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  apiUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v4`
})
afterEach(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const make = async () => {
  const deployment = deploymentOf(URL_OF, { forge: { kind: 'gitlab', projectId: 42, apiUrl } })
  const secrets = { gitToken: async () => secret, githubKey: async () => null }
  const { teller } = deployedForges(deployment, secrets, { sleep: async () => {}, timeout: 2000 })
  const ports = makePorts({
    teller,
    deployment,
    workspaces: new FakeWorkspaces({ base: { 'a.js': 'one\n' }, head: { 'a.js': 'one\nbad\n' } }),
  })
  const { run, state } = await aRun(ports, { repository: URL_OF })
  return { ports, run, state, tell: (begun = false) => tell(ports, { runId: run.runId, begun }, invocationOf(ports)) }
}
const seen = () => statuses.map(({ sha, name, status, ref }) => [sha, name, status, ref])

it('is pending, running, and what came of it; told again it changes nothing', async () => {
  const { ports, state, tell: tellIt } = await make()
  await tellIt()
  expect(seen()).toEqual([[HEAD, 'reviewloop', 'pending', 'feature']])
  await tellIt(true)
  expect(seen()).toEqual([[HEAD, 'reviewloop', 'running', 'feature']])
  await driveUntil(ports, state, 'Done')
  await tellIt()
  expect(statuses).toMatchObject([{ status: 'success', description: 'Approved: no blocking finding' }])
  calls.length = 0
  await tellIt()
  expect(calls).toEqual([])
})

it('case 30: is told once, whatever becomes of any request', async () => {
  for (const kind of ['lost', 502] as const)
    for (let at = 0; at < 4; at++) {
      statuses = []
      calls = []
      fault = (_call, count) => (count === at ? kind : null)
      const { tell: tellIt } = await make()
      await tellIt()
      await tellIt(true)
      expect([kind, at, seen()]).toEqual([kind, at, [[HEAD, 'reviewloop', 'running', 'feature']]])
    }
})

it('case 30: what it will not take is recorded, what it cannot take is told again', async () => {
  const { ports, run, tell: tellIt } = await make()
  const refused = () => ports.runs.forgeItems.get(`${run.runId}#forge`)?.refused
  fault = (call) => (call.startsWith('POST') ? 403 : null)
  await tellIt()
  expect(refused()).toMatchObject({ status: { error: 'ForgeRefused', message: expect.stringContaining('GitLab answered 403') as string } })
  fault = (call) => (call.startsWith('POST') ? 503 : null)
  expect(await tellIt().then(() => null, asLoopError)).toMatchObject({ name: 'ForgeUnavailable' })
  fault = () => null
  secret = null
  await tellIt()
  expect(refused()?.['forge']).toMatchObject({ message: 'The deployment has no token for GitLab.' })
  secret = TOKEN
  await tellIt()
  expect([refused(), seen()]).toEqual([{}, [[HEAD, 'reviewloop', 'pending', 'feature']]])
})
