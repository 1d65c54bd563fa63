/** A whole run of the embedded engine, published to a git server and told to GitHub, both on loopback and over the real clients. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { handler as publishHandler } from '../../functions/publish/handler.ts'
import { openDataFolder, type DataFolder } from '../../lib/local/data-folder.ts'
import { openLoop, type LocalLoop, type LoopOptions } from '../../lib/local/local-loop.ts'
import { type Deployment, deployment } from '../../lib/loop/deployment.ts'
import { resumeRun } from '../../lib/loop/resume.ts'
import type { RunRequest } from '../../lib/loop/run.ts'
import { startRun } from '../../lib/loop/start.ts'
import { ENV, executionName } from '../../lib/names.ts'
import { makeCli, type Cli } from '../support/cli.ts'
import { serveGit, type GitServer } from '../support/git-http-server.ts'
import { makeChange, repositoryAt, type TestRepository } from '../support/git-repository.ts'
import { type GithubMock, startGithub } from '../support/github/mock.ts'
import { APP, OWNER, REPO, REPOSITORY_ID } from '../support/github/state.ts'

const READ_TOKEN = 't0kenThatOnlyReads'
const TURNS = {
  1: { role: 'reviewer', findings: [{ rule: 'no-bad', severity: 'error', action: 'auto-fix', file: 'a.txt', line: 2, text: 'bad' }] },
  2: { role: 'fixer', edits: [{ replace: 'a.txt', before: 'bad', after: 'good' }] },
  3: { role: 'reviewer', accounts: { fixed: 'all' } },
  4: { role: 'certifier' },
}

let scratch: string
let cli: Cli
let work: TestRepository
let bare: TestRepository
let server: GitServer
let github: GithubMock
let request: RunRequest
let facts: Deployment
const folders: DataFolder[] = []
const loops: LocalLoop[] = []

const tip = (branch: string): string | null => {
  try {
    return execFileSync('git', ['-C', bare.path, 'rev-parse', '--verify', '--quiet', `refs/heads/${branch}`], { encoding: 'utf8' }).trim()
  } catch {
    return null
  }
}

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'reviewloop-github-'))
  cli = await makeCli()
  github = await startGithub()
  const change = await makeChange({ 'a.txt': 'one\n' }, { 'a.txt': 'one\nbad\n' })
  work = change.repository
  await work.git('clone', '--quiet', '--bare', '.', join(scratch, 'served', OWNER, `${REPO}.git`))
  bare = repositoryAt(join(scratch, 'served', OWNER, `${REPO}.git`))
  await bare.git('config', 'http.receivepack', 'true')
  server = await serveGit({
    root: join(scratch, 'served'),
    secure: true,
    // The token that reads pushes nothing: for that there has to be one of the App's.
    intercept: ({ url = '', headers }, response) => {
      const given = Buffer.from((headers.authorization ?? '').replace('Basic ', ''), 'base64').toString()
      const isAllowed = url.includes('receive-pack') ? given.startsWith('x-access-token:ghs_') : headers.authorization !== undefined
      if (!isAllowed) response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return !isAllowed
    },
  })
  await writeFile(join(scratch, 'ca.pem'), server.certificate)
  process.env['GIT_SSL_CAINFO'] = join(scratch, 'ca.pem')
  process.env[ENV.gitToken] = READ_TOKEN
  const url = `${server.url}/${OWNER}/${REPO}.git`
  facts = deployment.parse({
    repositories: [
      { url, publish: 'pull-request', forge: { kind: 'github', repositoryId: REPOSITORY_ID, ownerId: 2, apiUrl: github.url } },
    ],
    github: { appId: APP.id },
  })
  request = { repository: url, branch: 'change', base: change.base, head: change.head, overrides: {}, attempt: 1, publishTo: null }
  github.state.branchOf = (name) => {
    const sha = tip(name)
    return sha === null ? undefined : { sha, protected: github.state.branches.get(name)?.protected ?? false }
  }
  github.state.addPull({ head: 'change', sha: change.head })
})
afterEach(async () => {
  for (const loop of loops.splice(0).toReversed()) {
    await loop.engine.interrupt()
    loop.close()
  }
  for (const folder of folders.splice(0).toReversed()) await folder.close()
  delete process.env['GIT_SSL_CAINFO']
  delete process.env[ENV.gitToken]
  await server.close()
  await github[Symbol.asyncDispose]()
  await cli.close()
  await work.close()
  await rm(scratch, { recursive: true, force: true })
})

const open = async (change: Partial<LoopOptions> = {}): Promise<LocalLoop> => {
  const folder = await openDataFolder(join(scratch, 'data'))
  folders.push(folder)
  const scenario = await cli.scenario(TURNS)
  const options = { waits: false, scenario, agents: ['scripted'], deployment: facts, retryInterval: 1 }
  const app = { key: async () => github.key, sleep: async () => {} }
  const loop = await openLoop(folder, { ...options, github: app, ...change })
  loops.push(loop)
  return loop
}
const begin = async ({ ports }: LocalLoop): Promise<string> =>
  (await startRun(ports, { request, startedBy: 'test', checkHead: true })).run.runId
const pushes = () => server.requests.filter(({ line }) => line.startsWith('POST') && line.includes('receive-pack')).length

/** Everything there is to see, once. */
const expectPublishedOnce = (runId: string) => {
  const fixes = tip(`reviewloop/${runId}`)
  expect(fixes).toMatch(/^[0-9a-f]{40}$/)
  expect(pushes()).toBe(1)
  expect(github.complaints).toEqual([])
  expect(github.state.checks.map(({ head_sha, conclusion }) => [head_sha, conclusion])).toEqual([
    [request.head, 'action_required'],
    [fixes, 'success'],
  ])
  expect(github.state.pulls.map(({ head, base }) => [head.ref, base.ref])).toEqual([
    ['change', 'main'],
    [`reviewloop/${runId}`, 'change'],
  ])
  expect(github.state.comments).toMatchObject([{ issue: 1, body: expect.stringContaining('### reviewloop: Approved') as string }])
  expect(github.state.reviews).toMatchObject([
    {
      pull: 1,
      commit_id: request.head,
      comments: [{ path: 'a.txt', line: 2, body: expect.stringContaining('```suggestion\ngood\n```') as string }],
    },
  ])
  expect(github.state.scans.size).toBe(1)
  // Neither the forge nor the git server is shown what is not its own.
  expect(github.sent.join()).not.toContain(READ_TOKEN)
}

describe('a whole run', () => {
  it('is published and told, and every further time changes nothing', async () => {
    const loop = await open({
      // As the machine enters a state again whose answer was lost.
      handler: (state, handler) =>
        state === 'Publish' ? async (event, invocation) => (await handler(event, invocation), handler(event, invocation)) : handler,
    })
    const runId = await begin(loop)
    await loop.engine.waitFor(executionName(runId, 1))
    expectPublishedOnce(runId)
    const shown = () => {
      const { checks, comments, pulls, reviews, scans } = github.state
      return structuredClone({ checks, comments, pulls, reviews, scans })
    }
    const before = shown()
    const again = publishHandler(loop.ports)
    for (let times = 0; times < 2; times++)
      await again({ tell: runId }, { deadline: Date.now() + 60_000, signal: AbortSignal.timeout(60_000), progress: () => {} })
    expect(shown()).toEqual(before)
    expectPublishedOnce(runId)
  })

  it.each([1, 8])('is gone on with by another process where this one died at request %i after its push', async (last) => {
    const died = Promise.withResolvers<void>()
    let dead = false
    github.fault = () => {
      if (dead) return 'dropped'
      const looked = github.calls.findIndex((call) => call.includes('/branches/'))
      dead = looked >= 0 && github.calls.length > looked + last
      if (dead) died.resolve()
      return dead ? 'lost' : null
    }
    const first = await open({
      ports: (adapters) => ({
        ...adapters,
        runs: {
          ...adapters.runs,
          forges: { ...adapters.runs.forges, write: (key, item) => (dead ? new Promise(() => {}) : adapters.runs.forges.write(key, item)) },
        },
      }),
    })
    const runId = await begin(first)
    await died.promise
    await first.engine.interrupt(0)
    first.close()
    loops.splice(0)
    await folders.pop()?.close()

    dead = false
    github.fault = () => null
    const second = await open()
    const { run } = await resumeRun(second.ports, runId)
    await second.engine.waitFor(executionName(runId, run.epoch))
    await second.ports.announce(runId)
    expect((await second.ports.runs.runs.read(runId))?.verdict?.outcome).toBe('approved')
    expectPublishedOnce(runId)
  })

  it('ends as it would have where GitHub is not to be reached, and is told when it is', async () => {
    github.fault = (route) => (route.includes('check-runs') || route.includes('pulls') ? 'dropped' : null)
    const logged: string[] = []
    const loop = await open({ onLog: (_level, message) => logged.push(message) })
    const runId = await begin(loop)
    await loop.engine.waitFor(executionName(runId, 1))
    expect((await loop.ports.runs.runs.read(runId))?.verdict?.outcome).toBe('approved')
    expect(logged.some((message) => message.includes('the forge was not told: GitHub did not answer'))).toBe(true)
    github.fault = () => null
    await loop.ports.announce(runId)
    expectPublishedOnce(runId)
  })

  it('pushes to no protected branch, and keeps the fixes as a patch', async () => {
    request = { ...request, publishTo: 'change' }
    github.state.branches.set('change', { sha: request.head, protected: true })
    const loop = await open()
    const runId = await begin(loop)
    await loop.engine.waitFor(executionName(runId, 1))
    const run = await loop.ports.runs.runs.read(runId)
    expect(run).toMatchObject({ failure: { error: 'PushRefused', message: 'Branch change is protected: nothing is pushed to it.' } })
    expect(new TextDecoder().decode((await loop.ports.artifacts.get(run?.reports['patch'] ?? '')) ?? undefined)).toContain('+good')
    expect([pushes(), tip('change')]).toEqual([0, request.head])
    expect(github.state.checks).toMatchObject([{ conclusion: 'failure' }])
  })

  it('is not pushed where the App may not write', async () => {
    github.state.permissions['contents'] = 'read'
    const loop = await open()
    const runId = await begin(loop)
    await loop.engine.waitFor(executionName(runId, 1))
    expect(await loop.ports.runs.runs.read(runId)).toMatchObject({
      failure: { error: 'ForgeRefused', message: 'The GitHub App 7 has no permission contents.' },
    })
    expect(pushes()).toBe(0)
  })

  it('tells nobody anything without the key of an App', async () => {
    process.env[ENV.gitToken] = 'ghs_pushesByItself'
    const loop = await open({ github: undefined })
    const runId = await begin(loop)
    await loop.engine.waitFor(executionName(runId, 1))
    expect(tip(`reviewloop/${runId}`)).not.toBeNull()
    expect([github.calls, await loop.ports.runs.forges.read(runId)]).toEqual([[], null])
  })
})
