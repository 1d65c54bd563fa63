/** The recipes of docs/ci.md, run by a shell with curl and jq against the handlers: what they send, what they wait for, how they end. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Sha256 } from '@aws-crypto/sha256-js'
import { SignatureV4 } from '@smithy/signature-v4'
import { afterEach, beforeAll, beforeEach, afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { apiHandlersOf } from '../../lib/local/api-handlers.ts'
import { eventOf, readBytes } from '../../lib/local/api-event.ts'
import { API_ROUTES, type ApiRoute } from '../../lib/names.ts'
import { makeCallers } from '../../lib/runtime/caller.ts'
import { verifyTokens } from '../../lib/runtime/oidc.ts'
import { ciDeployment, gitlabClaims, GITHUB, type Issuer, makeKey, ofPullRequest, serveIssuer, signToken } from '../support/ci-tokens.ts'
import { driveUntil } from '../support/drive.ts'
import { cleanReview } from '../support/fake-agent.ts'
import { FakeWorkspaces } from '../support/fake-workspace.ts'
import { answered } from '../support/http.ts'
import { isInstalled, testWith } from '../support/needs.ts'
import { openapiChecker } from '../support/openapi.ts'
import { uploadsInto } from '../support/api.ts'
import { HEAD, makePorts } from '../support/ports.ts'

const read = (file: string): string => readFileSync(new URL(`../../examples/ci/${file}`, import.meta.url), 'utf8')
const github = parse(read('github.yml')) as {
  permissions: Record<string, string>
  jobs: { review: { if: string; steps: { run: string }[] } }
}
const gitlab = parse(read('gitlab.yml')) as { reviewloop: { script: string[]; id_tokens: object } }
const SCRIPTS = {
  github: github.jobs.review.steps[0]?.run ?? '',
  gitlab: gitlab.reviewloop.script.join('\n'),
  // As Groovy reads it.
  jenkins: (/sh '''\n([^]*?)'''/.exec(read('Jenkinsfile'))?.[1] ?? '').replaceAll('\\\\', '\\'),
}

const KEY = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG', sessionToken: 'session-of-a-role' }
const signer = new SignatureV4({ service: 'execute-api', region: 'eu-central-1', sha256: Sha256, credentials: KEY, applyChecksum: false })

/** The signature that the request should have, made anew of what it says was signed. */
const isSigned = async ({ method = '', headers }: IncomingMessage, url: URL, body: Buffer): Promise<boolean> => {
  const { authorization = '' } = headers
  const signed = /SignedHeaders=([^,]+)/.exec(authorization)?.[1]?.split(';') ?? []
  const at = String(headers['x-amz-date']).replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z')
  const request = {
    method,
    protocol: url.protocol,
    hostname: url.hostname,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: Object.fromEntries(signed.map((name) => [name, String(headers[name])])),
    body,
  }
  const again = await signer.sign(request, { signingDate: new Date(at) })
  return /Signature=(\w+)/.exec(again.headers['authorization'] ?? '')?.[1] === /Signature=(\w+)/.exec(authorization)?.[1]
}

let issuer: Issuer
let server: Server
let folder: string
let ports: ReturnType<typeof makeLoop>
/** Requests of the API, as `POST /ci/github/runs`, and faults that only a server sees. */
let requests: string[]
let faults: string[]

const makeLoop = () =>
  makePorts({
    deployment: ciDeployment(issuer),
    workspaces: new FakeWorkspaces({ base: { 'a.js': 'one\n' }, head: { 'a.js': 'one\nbad\n' } }),
  })

/** The run goes on once it was looked at a second time. */
const goOn = async (): Promise<void> => {
  const execution = requests.length === 3 ? ports.executions.started.at(-1) : undefined
  if (execution) await driveUntil(ports, execution.input, 'Done', 'Failed')
}

const answer = async (request: IncomingMessage): Promise<{ status: number; type: string; text: string }> => {
  const url = new URL(request.url ?? '', `http://${request.headers.host}`)
  const body = await readBytes(request)
  if (url.pathname === '/token') {
    if (request.headers.authorization !== 'bearer of-the-job') faults.push('the token was asked for without a proof')
    const value = await signToken(issuer, 'github', ofPullRequest(), { audience: url.searchParams.get('audience') ?? 'nobody' })
    return { status: 200, type: 'application/json', text: JSON.stringify({ value }) }
  }
  requests.push(`${request.method} ${url.pathname}${url.search}`)
  await goOn()
  const isJenkins = !url.pathname.startsWith('/ci/')
  if (isJenkins && !(await isSigned(request, url, body))) faults.push(`not signed: ${request.headers.authorization}`)
  if (isJenkins && request.headers['x-amz-security-token'] !== KEY.sessionToken) faults.push('without the token of the session')
  const event = eventOf(request, { url, body, user: isJenkins ? 'arn:aws:sts::000000000000:assumed-role/Jenkins/build' : null })
  const route = event['routeKey'] as ApiRoute
  if (body.length) openapiChecker().body(route, JSON.parse(body.toString()))
  const handlers = apiHandlersOf(ports, makeCallers(ports.deployment, verifyTokens(ports.deployment)), null, uploadsInto(ports))
  const { status, headers, text } = answered(route, await handlers[API_ROUTES[route].function](event))
  return { status, type: headers['content-type'] ?? '', text }
}

beforeAll(async () => {
  issuer = await serveIssuer(await makeKey('one'))
  server = createServer((request, response) => {
    void answer(request).then(
      ({ status, type, text }) => response.writeHead(status, { 'content-type': type }).end(text),
      (error: unknown) => {
        faults.push(String(error))
        response.writeHead(500).end(String(error))
      },
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  await issuer[Symbol.asyncDispose]()
  await new Promise((resolve) => server.close(resolve))
})
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'reviewloop-ci-'))
  ports = makeLoop()
  requests = []
  faults = []
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

interface Ended {
  code: number
  output: string
}

const run = async (name: keyof typeof SCRIPTS): Promise<Ended> => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    NO_PROXY: '127.0.0.1',
    REVIEWLOOP_API: `${url}/`,
    REVIEWLOOP_PAUSE: '0.01',
    HEAD,
    ACTIONS_ID_TOKEN_REQUEST_URL: `${url}/token?version=1`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'of-the-job',
    GITHUB_STEP_SUMMARY: join(folder, 'report.md'),
    REVIEWLOOP_TOKEN: await signToken(issuer, 'gitlab', gitlabClaims({ pipeline_source: 'merge_request_event' })),
    CI_COMMIT_SHA: HEAD,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: KEY.accessKeyId,
    AWS_SECRET_ACCESS_KEY: KEY.secretAccessKey,
    AWS_SESSION_TOKEN: KEY.sessionToken,
    REVIEWLOOP_REPOSITORY: GITHUB.url,
    BRANCH_NAME: 'topic',
  }
  const shell = name === 'github' ? ['bash', '-e'] : ['sh']
  return new Promise((resolve) => {
    execFile(shell[0] ?? '', [...shell.slice(1), '-c', SCRIPTS[name]], { cwd: folder, env }, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? 1 : 0, output: `${stdout}${stderr}` }),
    )
  })
}

const finding = { rule: 'bad-word', severity: 'error', action: 'ask-user', file: 'a.js', line: 2, text: 'bad' } as const
const PATHS = { github: '/ci/github/runs', gitlab: '/ci/gitlab/runs', jenkins: '/runs' }
/** jq is there for people whose machine has curl: both are asked for. */
const withTools = testWith('jq', (program) => isInstalled(program) && isInstalled('curl'))

describe.each(Object.keys(SCRIPTS) as (keyof typeof SCRIPTS)[])('the recipe of %s', (name) => {
  withTools('has the head reviewed, waits for the end, keeps the report, and is green when it is approved', async () => {
    ports.agent.script.push(ports.agent.done(cleanReview))
    const { code, output } = await run(name)
    expect({ faults, output }).toEqual({ faults: [], output: expect.stringContaining('reviewloop: approved') as string })
    expect(code).toBe(0)
    const [item] = ports.runs.runItems.values()
    expect(item).toMatchObject({ request: { head: HEAD, branch: 'topic', overrides: { ask: 'never' } } })
    const path = `${PATHS[name]}/${item?.runId}`
    expect([...new Set(requests)]).toEqual([`POST ${PATHS[name]}`, `GET ${path}`, `GET ${path}/report?format=markdown`])
    expect(readFileSync(join(folder, 'report.md'), 'utf8')).toContain('# Approved')
  })

  withTools('is red when changes are requested, and nobody is waited for', async () => {
    ports.agent.script.push(ports.agent.done({ ...cleanReview, findings: [finding] }))
    const { code, output } = await run(name)
    expect(faults).toEqual([])
    expect(output).toContain('reviewloop: changes-requested')
    expect(code).not.toBe(0)
    expect(readFileSync(join(folder, 'report.md'), 'utf8')).toContain('bad-word')
  })

  withTools('is red and says why when it is refused', async () => {
    ports.forge.head = null
    const { code, output } = await run(name)
    expect(faults).toEqual([])
    expect(code).not.toBe(0)
    expect(output).toContain('BranchGone')
    expect(requests).toEqual([`POST ${PATHS[name]}`])
  })

  withTools('puts no credential into an argument', async () => {
    for (const secret of ['ACTIONS_ID_TOKEN_REQUEST_TOKEN', 'token', 'REVIEWLOOP_TOKEN', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']) {
      const lines = SCRIPTS[name].split('\n').filter((line) => line.includes(`"$${secret}"`))
      expect(lines.filter((line) => !line.includes('printf'))).toEqual([])
    }
  })
})

test('the jobs of the forges have the right to a token and no other, and leave forks alone', () => {
  expect(github.permissions).toEqual({ 'id-token': 'write' })
  expect(github.jobs.review.if).toBe('github.event.pull_request.head.repo.full_name == github.repository')
  expect(gitlab.reviewloop.id_tokens).toEqual({ REVIEWLOOP_TOKEN: { aud: 'reviewloop' } })
})
