/** The API on loopback over the embedded engine, from a signed token to a pushed branch on a git server. */
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openDataFolder } from '../../lib/local/data-folder.ts'
import { openLoop } from '../../lib/local/local-loop.ts'
import { decideRun } from '../../lib/loop/decide.ts'
import { abortRun } from '../../lib/loop/end-run.ts'
import { serve } from '../../lib/local/serve.ts'
import { deployment } from '../../lib/loop/deployment.ts'
import { asksOnce, makeCli } from '../support/cli.ts'
import { ciDeployment, githubClaims, type Issuer, makeKey, ofPullRequest, serveIssuer, signToken } from '../support/ci-tokens.ts'
import { type GitServer, serveGit } from '../support/git-http-server.ts'
import { makeChange, makeRepository, repositoryAt, temporaryFolder, type TestRepository } from '../support/git-repository.ts'
import { send, startService, type TestService } from '../support/service.ts'

let issuer: Issuer
let root: string
let git: GitServer
let bare: TestRepository
let head: string
let service: TestService
let repository: string

beforeAll(async () => {
  issuer = await serveIssuer(await makeKey('one'))
  root = await temporaryFolder()
  git = await serveGit({ root })
  repository = `${git.url}/team/project`
})
afterAll(async () => {
  await git.close()
  await issuer[Symbol.asyncDispose]()
  await repositoryAt(root).close()
})

/** A git server with a change to review, and a service for it. */
const begin = async (): Promise<void> => {
  const change = await makeChange({ 'a.txt': 'one\ntwo\n' }, { 'a.txt': 'one\nbad\n' })
  head = change.head
  const made = await makeRepository({ bare: true })
  await made.git('config', 'http.receivepack', 'true')
  await change.repository.git('push', '--quiet', made.path, 'main', 'change')
  await change.repository.close()
  await repositoryAt(join(root, 'team')).close()
  await repositoryAt(root).write('team/.keep', '')
  await rename(made.path, join(root, 'team/project'))
  bare = repositoryAt(join(root, 'team/project'))
  git.requests.length = 0
  service = await startService(ciDeployment(issuer, {}, { github: repository, gitlab: 'https://lab.example/a/b' }), asksOnce())
}
const end = (): Promise<void> => service.close()

const claims = (change: object = {}) => githubClaims({ ref: 'refs/heads/change', ...change })
const idIn = ({ json }: { json: Record<string, unknown> }): string => (json['run'] as { runId: string }).runId
const isParked = ({ status, decision }: { status: string; decision: unknown }): boolean => status === 'parked' && decision === null
const hasEnded = ({ status }: { status: string }): boolean => status === 'ended'
const pushes = (): number => git.requests.filter(({ line }) => line === 'POST /team/project/git-receive-pack').length
const branches = async (): Promise<string[]> => (await bare.git('for-each-ref', '--format=%(refname:short)')).split('\n')

/** A run that a person started and that waits for an answer. */
const waiting = async (): Promise<string> => {
  const id = idIn(await service.call('POST', '/runs', { body: { repository, branch: 'change' } }))
  await service.until(id, isParked)
  return id
}
const openFinding = async (id: string): Promise<string> => {
  const { json } = await service.call('GET', `/runs/${id}/report`)
  return (json['findings'] as { id: string }[])[0]?.id ?? ''
}

describe('a run', () => {
  beforeEach(begin)
  afterEach(end)

  test('that a CI job starts with its token is parked, decided, and published to the git server; asked for twice, it is published once', async () => {
    const token = await signToken(issuer, 'github', claims())
    const start = () => service.call('POST', '/ci/github/runs', { token, body: { head } })
    const first = await start()
    expect(first).toMatchObject({ status: 201, json: { started: true, run: { startedBy: 'github:team/project/actions/runs/123456' } } })
    const id = idIn(first)
    await service.until(id, isParked)
    expect((await service.call('GET', `/ci/github/runs/${id}`, { token })).json).toMatchObject({
      run: { status: 'parked', question: { why: 'ask-user' } },
    })
    expect(await branches()).toEqual(['change', 'main'])

    const body = { answer: { kind: 'fix', findings: [await openFinding(id)], note: 'as you like' } }
    expect((await service.call('POST', `/runs/${id}/decision`, { body, token })).status).toBe(401)
    expect((await service.call('POST', `/runs/${id}/decision`, { body })).json).toMatchObject({ run: { decision: { by: 'ada' } } })
    expect(await service.until(id, hasEnded)).toMatchObject({ verdict: { outcome: 'approved', reason: 'certified' } })

    expect(await branches()).toEqual(['change', 'main', `reviewloop/${id}`])
    expect(await bare.git('cat-file', 'blob', `reviewloop/${id}:a.txt`)).toBe('one\nmeant')
    expect(pushes()).toBe(1)
    const patch = await send(`${service.now().url}/ci/github/runs/${id}/report?format=patch`, {
      headers: { authorization: `Bearer ${token}` },
    })
    expect(patch.text).toContain('+meant')

    const tip = await bare.id(`reviewloop/${id}`)
    const second = await start()
    expect(second).toMatchObject({ status: 200, json: { started: false, run: { status: 'ended' } } })
    expect(idIn(second)).toBe(id)
    expect((await service.call('POST', `/runs/${id}/decision`, { body })).status).toBe(200)
    expect((await service.call('POST', `/runs/${id}/decision`, { body: { answer: { kind: 'skip' } } })).json).toMatchObject({
      title: 'StaleDecision',
    })
    await service.again()
    expect(idIn(await service.call('POST', '/ci/github/runs', { token, body: { head } }))).toBe(id)
    expect(pushes()).toBe(1)
    expect(await bare.id(`reviewloop/${id}`)).toBe(tip)
  })
})

describe('what other tokens come to', () => {
  beforeAll(begin)
  afterAll(end)

  test.each([
    ['another audience', claims(), { audience: 'elsewhere' }, 401],
    ['expired', claims(), { at: 1_700_000_000, expires: 1_700_000_300 }, 401],
    ['of a fork', claims({ repository: 'mallory/project', repository_id: '1', repository_owner_id: '2' }), {}, 403],
    ['of a pull request of a fork', ofPullRequest({ event_name: 'pull_request_target' }), {}, 403],
  ])('%s: refused, and no run is made', async (_what, given, change, status) => {
    const token = await signToken(issuer, 'github', given, change)
    expect((await service.call('POST', '/ci/github/runs', { token, body: { head } })).status).toBe(status)
    expect((await service.call('GET', '/runs')).json).toMatchObject({ runs: [] })
  })

  test('the token of the service opens no route of a CI, and that of a job none of a person', async () => {
    expect((await service.call('POST', '/ci/github/runs', { body: { head } })).status).toBe(401)
    const token = await signToken(issuer, 'github', claims())
    for (const path of ['/runs', '/health', '/openapi.json']) expect((await service.call('GET', path, { token })).status).toBe(401)
  })
})

describe('who may reach it', () => {
  beforeAll(begin)
  afterAll(end)

  const port = (): string => new URL(service.now().url).port
  const get = (headers: Record<string, string>, path = '/health') =>
    send(`${service.now().url}${path}`, { headers: { authorization: `Bearer ${service.now().token}`, ...headers } })

  test.each([
    ['the name of another host', () => ({ host: 'evil.example' }), 403],
    ['another port', () => ({ host: '127.0.0.1:1' }), 403],
    ['a name that resolves here', () => ({ host: `rebound.example:${port()}` }), 403],
    ['a page of elsewhere', () => ({ origin: 'https://evil.example' }), 403],
    ['a page of another port of this machine', () => ({ origin: 'http://127.0.0.1:1' }), 403],
    ['a page without an origin', () => ({ origin: 'null' }), 403],
    ['what a browser calls another site', () => ({ 'sec-fetch-site': 'cross-site' }), 403],
    ['what a browser calls the same site', () => ({ 'sec-fetch-site': 'same-site' }), 403],
    ['no token', () => ({ authorization: '' }), 401],
    ['another token', () => ({ authorization: `Bearer ${'x'.repeat(32)}` }), 401],
    ['half a token', () => ({ authorization: `Bearer ${service.now().token.slice(0, 16)}` }), 401],
    ['the token without its scheme', () => ({ authorization: service.now().token }), 401],
    ['itself', () => ({}), 200],
    ['its other name', () => ({ host: `localhost:${port()}` }), 200],
    ['a page of its own', () => ({ origin: `http://127.0.0.1:${port()}`, 'sec-fetch-site': 'same-origin' }), 200],
  ])('%s: %s', async (_what, headers, status) => {
    const answer = await get(headers())
    expect(answer.status).toBe(status)
    expect(answer.headers).toMatchObject({ 'x-content-type-options': 'nosniff' })
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
  })

  test('the same holds for the routes of a CI', async () => {
    const token = await signToken(issuer, 'github', claims())
    const call = (headers: Record<string, string>) =>
      send(`${service.now().url}/ci/github/runs`, { method: 'POST', headers: { authorization: `Bearer ${token}`, ...headers }, body: '{}' })
    for (const headers of [{ host: 'evil.example' }, { origin: 'https://evil.example' }]) expect((await call(headers)).status).toBe(403)
    expect((await service.call('GET', '/runs')).json).toMatchObject({ runs: [] })
  })

  test('what is no route, no JSON or too much is refused, and the service goes on', async () => {
    expect((await get({}, '/nowhere')).status).toBe(404)
    expect((await get({}, '/runs/%2e%2e/report')).status).toBe(404)
    expect((await get({}, '//evil.example/runs')).status).toBe(404)
    const post = (body: string) =>
      send(`${service.now().url}/runs`, { method: 'POST', headers: { authorization: `Bearer ${service.now().token}` }, body })
    expect((await post('{')).status).toBe(400)
    expect(
      await post('x'.repeat(2_000_000)).then(
        ({ status }) => status,
        () => 400,
      ),
    ).toBe(400)
    expect((await get({})).status).toBe(200)
  })
})

describe('one owner of the data folder', () => {
  beforeEach(begin)
  afterEach(end)

  test('a second service, and a run of the command line, are told who has it', async () => {
    const options = { data: service.data, port: 0, deployment: deployment.parse({}), user: 'bob' }
    await expect(serve(options)).rejects.toMatchObject({ name: 'DataFolderBusy', details: { pid: process.pid } })
  })

  test('a port that is taken is named, and the folder is free again', async () => {
    const { port } = new URL(service.now().url)
    const data = join(root, 'another')
    const options = { data, port: Number(port), deployment: deployment.parse({}), user: 'bob' }
    await expect(serve(options)).rejects.toMatchObject({ name: 'BadRequest', message: expect.stringContaining(port) as string })
    await (await serve({ ...options, port: 0 })).close()
  })

  test('what another process writes through the socket reaches the run that waits here', async () => {
    const id = await waiting()
    const folder = await openDataFolder(service.data)
    const guest = await openLoop(folder, { waits: false })
    try {
      expect(folder.owned).toBe(false)
      await decideRun(guest.ports, id, { answer: { kind: 'approve' }, by: 'bob' })
      expect(await service.until(id, hasEnded)).toMatchObject({ verdict: { outcome: 'approved', reason: 'by-person', by: 'bob' } })
    } finally {
      guest.close()
    }
  })

  test('and so does an end', async () => {
    const id = await waiting()
    const folder = await openDataFolder(service.data)
    const guest = await openLoop(folder, { waits: false })
    try {
      await abortRun(guest.ports, id, 'bob')
      expect(await service.until(id, hasEnded)).toMatchObject({ verdict: { outcome: 'aborted', by: 'bob' } })
    } finally {
      await guest.engine.interrupt()
      guest.close()
    }
  })
})

describe('starting again', () => {
  beforeEach(begin)
  afterEach(end)

  test('a run that waited goes on waiting, under the same question, and goes on when it is answered', async () => {
    const id = await waiting()
    const before = (await service.call('GET', `/runs/${id}`)).json
    await service.again()
    expect(service.now().resumed).toEqual([id])
    const run = await service.until(id, isParked)
    expect(run['question']).toEqual((before['run'] as Record<string, unknown>)['question'])
    expect((await service.call('POST', `/runs/${id}/abort`)).json).toMatchObject({ run: { verdict: { outcome: 'aborted', by: 'ada' } } })
    await service.until(id, hasEnded)
    await service.again()
    expect(service.now().resumed).toEqual([])
  })
})

test('the command says where it listens and its token once, and lets go in order on Ctrl-C', async () => {
  const change = await makeChange({ 'a.txt': 'one\n' }, { 'a.txt': 'two\n' })
  const cli = await makeCli(change.repository.path)
  try {
    const { child, ended } = cli.start(['serve', '--port', '0'])
    let out = ''
    const said = new Promise<void>((resolve) => {
      child.stdout?.on('data', (chunk) => {
        out += String(chunk)
        if (out.includes('Token: ')) resolve()
      })
    })
    await said
    const [, url = '', token = ''] = /^Listening on (http:\/\/127\.0\.0\.1:\d+)\nToken: ([\w-]{32})\n$/.exec(out) ?? []
    const health = await send(`${url}/health`, { headers: { authorization: `Bearer ${token}` } })
    expect(JSON.parse(health.text)).toMatchObject({ status: 'ok', repositories: [change.repository.path] })
    expect((await cli.run('run')).stderr).toContain('DataFolderBusy')
    expect((await cli.run('list')).code).toBe(0)
    child.kill('SIGINT')
    expect(await ended).toMatchObject({ code: 0 })
    expect((await ended).stderr).not.toContain(token)
    for (const bad of [
      ['--port', 'x'],
      ['--port', '70000'],
      ['--deployment', 'nowhere.json'],
    ])
      expect(await cli.run('serve', ...bad)).toMatchObject({ code: 2 })
  } finally {
    await cli.close()
    await change.repository.close()
  }
})
