/** The HTTP API, by its handlers, over stores in memory. Every answer is held to docs/openapi.json. */
import { handler as startHandler } from '../../functions/start/handler.ts'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { deployment, NO_DEPLOYMENT } from '../../lib/loop/deployment.ts'
import { isErrorName } from '../../lib/loop/errors.ts'
import type { RunState } from '../../lib/loop/run.ts'
import { API_ROUTES, type ApiRoute } from '../../lib/names.ts'
import { makeCallers, noTokens } from '../../lib/runtime/caller.ts'
import { verifyTokens } from '../../lib/runtime/oidc.ts'
import { type Api, apiOf } from '../support/api.ts'
import {
  ciDeployment,
  githubClaims,
  GITHUB,
  gitlabClaims,
  GITLAB,
  type Issuer,
  makeKey,
  ofPullRequest,
  serveIssuer,
  signToken,
} from '../support/ci-tokens.ts'
import { driveUntil } from '../support/drive.ts'
import { FakeWorkspaces } from '../support/fake-workspace.ts'
import type { Answered, Call } from '../support/http.ts'
import { openapiChecker } from '../support/openapi.ts'
import { HEAD, makePorts, stateOf } from '../support/ports.ts'

let issuer: Issuer
beforeAll(async () => {
  issuer = await serveIssuer(await makeKey('one'))
})
afterAll(() => issuer[Symbol.asyncDispose]())

const makeLoop = () =>
  makePorts({
    deployment: ciDeployment(issuer),
    workspaces: new FakeWorkspaces({ base: { 'a.js': 'one\n' }, head: { 'a.js': 'one\nbad\n' } }),
  })
let ports: ReturnType<typeof makeLoop>
let api: Api
beforeEach(() => {
  ports = makeLoop()
  api = apiOf(ports)
})

const UNKNOWN = 'r-0000000000000000'
const asking = {
  findings: [{ rule: 'bad-word', severity: 'error', action: 'ask-user', file: 'a.js', line: 2, text: 'bad' }],
  accounts: [],
  skipped: [],
  summary: 'found one',
}
const idIn = (answer: Answered): string => (answer.json() as { run: { runId: string } }).run.runId
const titleIn = (answer: Answered): string => (answer.json() as { title: string }).title

/** Starts a run through the API. */
const start = async (branch = 'topic', repository = GITHUB.url): Promise<string> =>
  idIn(await api('POST /runs', { body: { repository, branch } }))

/** A run that was started through the API and waits for a person. */
const parked = async (branch = 'topic', repository = GITHUB.url): Promise<{ id: string; state: RunState }> => {
  const id = await start(branch, repository)
  ports.agent.script.push(ports.agent.done(asking))
  const { state } = await driveUntil(ports, stateOf({ runId: id, next: 'Prepare', commit: HEAD }), 'Decide')
  return { id, state }
}
const bearer = (token: string): Call => ({ headers: { authorization: `Bearer ${token}` } })
const github = async (claims = githubClaims()): Promise<Call> => bearer(await signToken(issuer, 'github', claims))
const gitlab = async (claims = gitlabClaims()): Promise<Call> => bearer(await signToken(issuer, 'gitlab', claims))

describe('starting', () => {
  test('a run is started once, and by whom it says', async () => {
    const body = { repository: GITHUB.url, branch: 'topic' }
    const first = await api('POST /runs', { body })
    expect(first).toMatchObject({ status: 201, headers: { location: `/runs/${idIn(first)}` } })
    expect(first.json()).toMatchObject({ version: 1, started: true, run: { startedBy: 'assumed-role/Team/ada', status: 'running' } })
    const second = await api('POST /runs', { body })
    expect(second).toMatchObject({ status: 200 })
    expect(idIn(second)).toBe(idIn(first))
    expect(ports.executions.started.length).toBe(1)
  })

  test.each([
    ['nothing', '', 'BadRequest'],
    ['no JSON', '{', 'BadRequest'],
    ['a key that there is not', { repository: GITHUB.url, branch: 'x', force: true }, 'BadRequest'],
    ['600 KB', { repository: GITHUB.url, branch: 'x', head: 'a'.repeat(600_000) }, 'BadRequest'],
    ['another repository', { repository: 'https://git.example/unknown', branch: 'x' }, 'RepositoryNotAllowed'],
    ['another head', { repository: GITHUB.url, branch: 'x', head: 'c'.repeat(40) }, 'NotTheBranchHead'],
    ['settings that are none', { repository: GITHUB.url, branch: 'x', overrides: { rounds: 99 } }, 'BadRequest'],
  ])('%s: refused, and nothing is stored', async (_what, body, title) => {
    const answer = await api('POST /runs', { body })
    expect(titleIn(answer)).toBe(title)
    expect(answer.headers).toMatchObject({ 'content-type': 'application/problem+json', 'cache-control': 'no-store' })
    expect(ports.runs.runItems.size).toBe(0)
  })

  test('a repository that takes no callers with credentials still takes its jobs', async () => {
    const closed = ciDeployment(issuer)
    for (const { triggers } of closed.repositories) triggers.api = false
    const only = apiOf({ ...ports, deployment: closed })
    expect(titleIn(await only('POST /runs', { body: { repository: GITHUB.url, branch: 'topic' } }))).toBe('RepositoryNotAllowed')
    expect((await only('POST /ci/github/runs', { ...(await github()), body: {} })).status).toBe(201)
  })

  test('case 14: a hundred starts at once, of people, jobs and the clock, are one run with one execution', async () => {
    const [first, ...others] = ciDeployment(issuer).repositories
    const topic = { ...first, triggers: { ...first?.triggers, schedule: { branch: 'topic' } } }
    ports = { ...makeLoop(), deployment: deployment.parse({ repositories: [topic, ...others] }) }
    api = apiOf(ports)
    const job = await github()
    const callers = makeCallers(ports.deployment, verifyTokens(ports.deployment))
    const scheduled = { schedule: { repository: GITHUB.url } }
    const doors = [
      async () => idIn(await api('POST /runs', { body: { repository: GITHUB.url, branch: 'topic' } })),
      async () => idIn(await api('POST /runs', { body: { repository: `${GITHUB.url}.git`, branch: 'topic', overrides: { rounds: 1 } } })),
      async () => idIn(await api('POST /ci/github/runs', { ...job, body: { head: HEAD } })),
      async () => idIn(await api('POST /ci/github/runs', { ...job, body: { ask: 'never' } })),
      async () => ((await startHandler(ports, callers)(scheduled)) as { runId: string }).runId,
    ]
    const ids = await Promise.all(Array.from({ length: 100 }, (_, number) => doors[number % doors.length]!()))
    expect(new Set(ids).size).toBe(1)
    expect(ports.executions.started.map(({ name }) => name)).toEqual([`${ids[0]}-1`])
    expect([...ports.runs.branchItems.values()].map(({ active }) => active)).toEqual([ids[0]])
  })

  test('a branch that is gone', async () => {
    ports.forge.head = null
    expect(titleIn(await api('POST /runs', { body: { repository: GITHUB.url, branch: 'gone' } }))).toBe('BranchGone')
  })

  test('a body in base64, as API Gateway may send it', async () => {
    const body = Buffer.from(JSON.stringify({ repository: GITHUB.url, branch: 'topic' })).toString('base64')
    expect(titleIn(await api('POST /runs', { body }))).toBe('BadRequest')
    const event = {
      routeKey: 'POST /runs',
      requestContext: { authorizer: { iam: { userArn: 'a:b:c:d:e:user/ada' } } },
      body,
      isBase64Encoded: true,
    }
    const { handler } = await import('../../functions/start/handler.ts')
    expect(await handler(ports, async () => ({ name: 'ada', job: null }))(event)).toMatchObject({ statusCode: 201 })
  })
})

describe('seeing', () => {
  test('a run, without its token', async () => {
    const { id } = await parked()
    const answer = await api('GET /runs/{id}', { id })
    expect(answer.json()).toMatchObject({
      run: { runId: id, status: 'parked', question: { id: 'q1' } },
      turns: [{ turn: 1, role: 'reviewer' }],
    })
    expect(answer.text).not.toContain('"token"')
  })

  test.each([UNKNOWN, 'x', '../../runs'])('no run %s', async (id) => {
    for (const route of ['GET /runs/{id}', 'GET /runs/{id}/report', 'POST /runs/{id}/abort'] as const)
      expect(titleIn(await api(route, { id }))).toBe('RunNotFound')
  })

  test('a list, newest first, by repository, branch and status, page by page', async () => {
    for (const branch of ['one', 'two', 'three']) {
      ports.effects.advance(1000)
      await start(branch)
    }
    ports.effects.advance(1000)
    await start('one', GITLAB.url)
    ports.effects.advance(1000)
    const waiting = await parked('four')
    const list = async (query: Record<string, string> = {}) => {
      const page = (await api('GET /runs', { query })).json() as { runs: { request: { branch: string } }[]; next: string | null }
      return { branches: page.runs.map(({ request }) => request.branch), next: page.next }
    }
    expect(await list()).toEqual({ branches: ['four', 'one', 'three', 'two', 'one'], next: null })
    expect((await list({ repository: `${GITLAB.url}.git/` })).branches).toEqual(['one'])
    expect((await list({ branch: 'one' })).branches).toEqual(['one', 'one'])
    expect((await list({ status: 'parked' })).branches).toEqual(['four'])
    expect((await list({ status: 'ended' })).branches).toEqual([])
    const first = await list({ limit: '2' })
    expect(first.branches).toEqual(['four', 'one'])
    const second = await list({ limit: '2', after: first.next ?? '' })
    expect(second.branches).toEqual(['three', 'two'])
    expect(await list({ limit: '2', after: second.next ?? '' })).toEqual({ branches: ['one'], next: null })
    expect(waiting.id).toMatch(/^r-/)
    for (const query of [{ limit: '0' }, { limit: '1000' }, { status: 'lost' }, { after: 'x' }, { order: 'asc' }])
      expect(titleIn(await api('GET /runs', { query }))).toBe('BadRequest')
  })

  test('that it is there, and its own description', async () => {
    expect((await api('GET /health')).json()).toMatchObject({
      status: 'ok',
      stage: 'test',
      repositories: expect.arrayContaining([GITHUB.url]) as string[],
    })
    expect((await api('GET /openapi.json')).json()).toMatchObject({ openapi: '3.1.0' })
  })
})

describe('reports', () => {
  const fixes = { results: [], summary: 'mended' }
  /** A run whose fixer has committed, before it is certified. */
  const mended = async (): Promise<{ id: string; state: RunState }> => {
    const id = await start()
    const { agent } = ports
    agent.script.push(agent.done({ ...asking, findings: asking.findings.map((finding) => ({ ...finding, action: 'auto-fix' })) }))
    agent.script.push(async (turn) => {
      await turn.edits?.write('a.js', new TextEncoder().encode('one\ngood\n'))
      return agent.done(fixes)(turn)
    })
    const { state } = await driveUntil(ports, stateOf({ runId: id, next: 'Prepare', commit: HEAD }), 'Review', 'Publish')
    const { state: fixed } = await driveUntil(ports, (await driveUntil(ports, state, 'Fix')).state, 'Review')
    return { id, state: fixed }
  }

  test.each([
    [undefined, undefined, 'application/json'],
    ['sarif', undefined, 'application/sarif+json'],
    ['markdown', 'application/json', 'text/markdown; charset=utf-8'],
    [undefined, 'application/sarif+json, application/json;q=0.5', 'application/sarif+json'],
    [undefined, 'text/markdown;q=0.2, application/json;q=0.1', 'text/markdown; charset=utf-8'],
    [undefined, 'application/json;q=0, text/*', 'text/markdown; charset=utf-8'],
    [undefined, '*/*', 'application/json'],
    [undefined, 'image/png', 'application/json'],
    [undefined, 'text/x-diff', 'text/x-diff'],
    ['patch', undefined, 'text/x-diff'],
  ])('format %s, Accept %s: %s', async (format, accept, type) => {
    const { id } = await mended()
    const answer = await api('GET /runs/{id}/report', {
      id,
      ...(format ? { query: { format } } : {}),
      ...(accept ? { headers: { accept } } : {}),
    })
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': type, 'x-content-type-options': 'nosniff' } })
    expect(answer.text.length).toBeGreaterThan(10)
  })

  test('another format is refused', async () => {
    expect(titleIn(await api('GET /runs/{id}/report', { id: await start(), query: { format: 'pdf' } }))).toBe('BadRequest')
  })

  test('of a run before its first turn, one that waits, one that was fixed, and one that ended', async () => {
    const before = await start('early')
    expect((await api('GET /runs/{id}/report', { id: before })).json()).toMatchObject({ status: 'running', findings: [], turns: [] })
    const waiting = await parked('waits')
    expect((await api('GET /runs/{id}/report', { id: waiting.id })).json()).toMatchObject({
      status: 'parked',
      findings: [{ status: 'open' }],
    })
    expect(titleIn(await api('GET /runs/{id}/report', { id: waiting.id, query: { format: 'patch' } }))).toBe('NoPatch')
    const { id, state } = await mended()
    const going = await api('GET /runs/{id}/report', { id })
    expect(going.json()).toMatchObject({ status: 'running', commits: [{ round: 1 }], findings: [{ rule: 'bad-word' }] })
    const early = await api('GET /runs/{id}/report', { id, query: { format: 'patch' } })
    const { state: ended } = await driveUntil(
      ports,
      { ...state, next: 'Close', verdict: { outcome: 'aborted', reason: 'aborted', by: 'ada', error: null } },
      'Done',
    )
    expect(ended.next).toBe('Done')
    const after = await api('GET /runs/{id}/report', { id })
    expect(after.json()).toMatchObject({ status: 'ended', outcome: 'aborted' })
    expect((await api('GET /runs/{id}/report', { id, query: { format: 'patch' } })).text).toBe(early.text)
  })

  test('a large one is fetched elsewhere, and only the very object', async () => {
    const { id, state } = await mended()
    await driveUntil(ports, { ...state, next: 'Close', verdict: { outcome: 'aborted', reason: 'aborted', by: 'ada', error: null } }, 'Done')
    const asked: unknown[] = []
    const linked = apiOf(
      {
        ...ports,
        artifacts: {
          ...ports.artifacts,
          get: async (key) => (key.startsWith('reports/') ? new Uint8Array(3_000_001) : ports.artifacts.get(key)),
        },
      },
      {
        link: async (key, about) => {
          asked.push([key, about])
          return 'https://bucket.example/signed'
        },
      },
    )
    const answer = await linked('GET /runs/{id}/report', { id, query: { format: 'patch' } })
    expect(answer).toMatchObject({ status: 303, headers: { location: 'https://bucket.example/signed' }, text: '' })
    expect(asked).toEqual([[`reports/${id}/report.patch`, { contentType: 'text/x-diff', name: `${id}.patch` }]])
  })
})

describe('deciding and ending', () => {
  const decide = (id: string, body: unknown, more: Call = {}) => api('POST /runs/{id}/decision', { id, body, ...more })
  const approve = { answer: { kind: 'approve' } }

  test('a decision says who and when, wakes the run, and again is answered alike', async () => {
    const { id, state } = await parked()
    const first = await decide(id, { question: 'q1', ...approve })
    expect(first).toMatchObject({ status: 200 })
    const { run } = first.json() as { run: { decision: unknown } }
    expect(run.decision).toMatchObject({
      question: 'q1',
      answer: { kind: 'approve' },
      by: 'assumed-role/Team/ada',
      at: expect.any(String) as string,
    })
    expect((await decide(id, { question: 'q1', ...approve })).json()).toEqual(first.json())
    expect(ports.executions.woken).toEqual(['token', 'token'])
    const { state: ended } = await driveUntil(ports, state, 'Done')
    expect(ended.verdict).toMatchObject({ outcome: 'approved', by: 'assumed-role/Team/ada' })
  })

  test.each([
    ['another answer', { answer: { kind: 'skip' } }],
    ['the same of somebody else', approve, { arn: 'arn:aws:iam::000000000000:user/bob' }],
    ['one to a question that was never asked', { question: 'q9', ...approve }],
  ] as const)('case 26: %s is stale, and changes nothing', async (_what, body, more: Call = {}) => {
    const { id } = await parked()
    await decide(id, approve)
    const before = structuredClone(ports.runs.runItems.get(id))
    const answer = await decide(id, body, more)
    expect(answer.status).toBe(409)
    expect(titleIn(answer)).toBe('StaleDecision')
    expect(ports.runs.runItems.get(id)).toEqual(before)
  })

  test('case 26: one for a run that does not wait, or waits no more', async () => {
    expect(titleIn(await decide(await start('early'), approve))).toBe('StaleDecision')
    const { id } = await parked()
    await api('POST /runs/{id}/abort', { id })
    expect(titleIn(await decide(id, approve))).toBe('StaleDecision')
  })

  test.each([
    ['no answer', {}, 'BadRequest'],
    ['an answer of no kind', { answer: { kind: 'maybe' } }, 'BadRequest'],
    ['a finding that is not open', { answer: { kind: 'fix', findings: ['f-ffffffffff'] } }, 'BadDecision'],
    ['fixing nothing', { answer: { kind: 'fix', findings: [] } }, 'BadDecision'],
    ["somebody else's name", { ...approve, by: 'root' }, 'BadRequest'],
  ])('%s is refused', async (_what, body, title) => {
    const { id } = await parked()
    expect(titleIn(await decide(id, body))).toBe(title)
    expect(ports.runs.runItems.get(id)?.decision).toBeNull()
  })

  test('a hundred people answer at once: one answer stands, and all others are told', async () => {
    const { id } = await parked()
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, number) =>
        decide(id, { answer: { kind: number % 2 ? 'approve' : 'skip' } }, { arn: `arn:aws:iam::000000000000:user/${number % 10}` }),
      ),
    )
    const { decision } = ports.runs.runItems.get(id) ?? {}
    const accepted = answers.filter(({ status }) => status === 200)
    expect(accepted.length).toBe(10)
    for (const answer of accepted) expect((answer.json() as { run: { decision: unknown } }).run.decision).toEqual(decision)
  })

  test('an end says by whom, and comes once', async () => {
    const { id } = await parked()
    const answer = await api('POST /runs/{id}/abort', { id })
    expect(answer.json()).toMatchObject({ run: { verdict: { outcome: 'aborted', by: 'assumed-role/Team/ada' } } })
    const closing = ports.executions.started.at(-1)
    expect(closing?.name).toBe(`${id}-2`)
    await driveUntil(ports, closing!.input, 'Done')
    expect(titleIn(await api('POST /runs/{id}/abort', { id }))).toBe('RunEnded')
  })
})

describe('jobs of a CI', () => {
  test('start a run of their branch, and are shown it and its report', async () => {
    const call = await github()
    const started = await api('POST /ci/github/runs', { ...call, body: {} })
    expect(started.json()).toMatchObject({
      started: true,
      run: { startedBy: 'github:team/project/actions/runs/123456', request: { repository: GITHUB.url, branch: 'topic', overrides: {} } },
    })
    const id = idIn(started)
    expect((await api('GET /ci/github/runs/{id}', { ...call, id })).status).toBe(200)
    expect((await api('GET /ci/github/runs/{id}/report', { ...call, id })).status).toBe(200)
    expect(idIn(await api('POST /ci/gitlab/runs', { ...(await gitlab()), body: { ask: 'never' } }))).not.toBe(id)
  })

  test('of a pull request name the head, for the commit of the job is another', async () => {
    const call = await github(ofPullRequest())
    expect(titleIn(await api('POST /ci/github/runs', { ...call, body: {} }))).toBe('BadRequest')
    expect(titleIn(await api('POST /ci/github/runs', { ...call, body: { head: 'c'.repeat(40) } }))).toBe('NotTheBranchHead')
    expect((await api('POST /ci/github/runs', { ...call, body: { head: HEAD } })).status).toBe(201)
  })

  test('of a fork, under a branch name that is here as well, start nothing', async () => {
    ports.forge.head = 'd'.repeat(40)
    expect(titleIn(await api('POST /ci/github/runs', { ...(await github(ofPullRequest())), body: { head: HEAD } }))).toBe(
      'NotTheBranchHead',
    )
    expect(ports.runs.runItems.size).toBe(0)
  })

  test('started by a push ask for no other branch; started by hand they may', async () => {
    expect(titleIn(await api('POST /ci/github/runs', { ...(await github()), body: { branch: 'other' } }))).toBe('CallerRefused')
    const byHand = await github(githubClaims({ event_name: 'workflow_dispatch', ref: 'refs/heads/main' }))
    expect((await api('POST /ci/github/runs', { ...byHand, body: { branch: 'other' } })).json()).toMatchObject({
      run: { request: { branch: 'other' } },
    })
  })

  test.each([{ overrides: { certify: 'never' } }, { base: 'lax' }, { repository: GITLAB.url }, { ask: 'always' }])(
    'case 20: cannot loosen what they are judged by: %j',
    async (body) => {
      expect(titleIn(await api('POST /ci/github/runs', { ...(await github()), body }))).toBe('BadRequest')
    },
  )
})

describe('who may do what', () => {
  type Who = 'nobody' | 'person' | 'own job' | 'other job' | 'refused job' | 'job of the other forge' | 'stranger'
  const WHO: Who[] = ['nobody', 'person', 'own job', 'other job', 'refused job', 'job of the other forge', 'stranger']
  const call = async (who: Who, route: ApiRoute): Promise<Call> => {
    const kind = API_ROUTES[route].open === 'gitlab' ? 'gitlab' : 'github'
    const claims = kind === 'gitlab' ? gitlabClaims : githubClaims
    const signed = (change: object, by: 'github' | 'gitlab' = kind) => signToken(issuer, by, claims(change)).then(bearer)
    switch (who) {
      case 'nobody':
        return { arn: null }
      case 'person':
        return {}
      case 'own job':
        return { arn: null, ...(await signed({})) }
      case 'other job':
        return { arn: null, ...(await signed({ repository_id: '1', project_id: '1' })) }
      case 'refused job':
        return { arn: null, ...(await signed({ event_name: 'pull_request_target', pipeline_source: 'external_pull_request_event' })) }
      case 'job of the other forge':
        return { arn: null, ...(await signed({}, kind === 'github' ? 'gitlab' : 'github')) }
      case 'stranger':
        return { arn: null, ...bearer(await signToken(issuer, kind, claims(), { key: await makeKey('one') })) }
    }
  }
  const bodyOf = (route: ApiRoute): Call => {
    if (route === 'POST /runs') return { body: { repository: GITHUB.url, branch: 'fresh' } }
    if (route === 'POST /uploads') return { body: { repository: 'https://git.example/uploaded', bytes: 1, sha256: 'a'.repeat(64) } }
    if (route === 'POST /runs/{id}/decision') return { body: { answer: { kind: 'skip' } } }
    return route.startsWith('POST /ci/') ? { body: {} } : {}
  }
  const ofIam: Record<Who, number> = {
    nobody: 401,
    person: 200,
    'own job': 401,
    'other job': 401,
    'refused job': 401,
    'job of the other forge': 401,
    stranger: 401,
  }
  const ofCi: Record<Who, number> = {
    nobody: 401,
    person: 401,
    'own job': 200,
    'other job': 403,
    'refused job': 403,
    'job of the other forge': 401,
    stranger: 401,
  }

  test.each(Object.keys(API_ROUTES) as ApiRoute[])('%s', async (route) => {
    const { open } = API_ROUTES[route]
    const { id } = await parked('topic', open === 'gitlab' ? GITLAB.url : GITHUB.url)
    const statuses: Partial<Record<Who, number>> = {}
    for (const who of WHO) {
      const before = structuredClone(ports.runs.runItems)
      const { status } = await api(route, { ...(await call(who, route)), ...bodyOf(route), ...(route.includes('{id}') ? { id } : {}) })
      statuses[who] = status === 201 ? 200 : status
      if (status > 300) expect(ports.runs.runItems).toEqual(before)
    }
    expect(statuses).toEqual(open === 'iam' ? ofIam : ofCi)
  })

  test('a job is not shown the run of another repository, nor that there is one', async () => {
    const { id } = await parked('topic', GITLAB.url)
    for (const route of ['GET /ci/github/runs/{id}', 'GET /ci/github/runs/{id}/report'] as const) {
      const answer = await api(route, { ...(await github()), id })
      expect(answer.status).toBe(404)
      expect(titleIn(answer)).toBe('RunNotFound')
      expect(answer.json()).toMatchObject({ detail: `There is no run ${id}.` })
    }
  })

  test('no route of a CI decides, ends or lists', () => {
    const open = Object.entries(API_ROUTES).flatMap(([route, { open: to }]) => (to === 'iam' ? [] : [route.replace(/\/ci\/\w+/, '')]))
    expect(new Set(open)).toEqual(new Set(['POST /runs', 'GET /runs/{id}', 'GET /runs/{id}/report']))
  })

  test('a route that there is not, and a method that it does not have', async () => {
    const { handler } = await import('../../functions/show/handler.ts')
    for (const routeKey of ['GET /', 'DELETE /runs/{id}', '$default', 'constructor'])
      expect(await handler(ports, makeCallers(NO_DEPLOYMENT, noTokens))({ routeKey, requestContext: {} })).toMatchObject({
        statusCode: 404,
      })
  })
})

describe('the description', () => {
  test('is one of OpenAPI 3.1', async () => {
    const { default: description } = await import('../../docs/openapi.json', { with: { type: 'json' } })
    const validator = new Validator()
    expect(await validator.validate(structuredClone(description))).toMatchObject({ valid: true })
    expect(validator.version).toBe('3.1')
    expect(await new Validator().validate({ ...structuredClone(description), paths: { '/x': { get: { responses: 1 } } } })).toMatchObject({
      valid: false,
    })
  })

  test('takes what the handlers take, and refuses what they refuse', () => {
    openapiChecker().body('POST /runs', { repository: GITHUB.url, branch: 'x', overrides: { rounds: 2, agent: 'lint' } })
    openapiChecker().body('POST /ci/github/runs', { head: HEAD, ask: 'never' })
    openapiChecker().body('POST /runs/{id}/decision', { answer: { kind: 'fix', findings: ['f-0000000001'], note: 'so' } })
    expect(() => openapiChecker().body('POST /runs', { repository: GITHUB.url })).toThrow('branch')
    expect(() => openapiChecker().body('POST /ci/github/runs', { overrides: {} })).toThrow('additional')
    expect(() => openapiChecker().body('POST /runs/{id}/decision', { answer: { kind: 'expired' } })).toThrow('/answer')
  })

  test('would notice an answer that it does not describe', async () => {
    const check = openapiChecker()
    const good = await api('GET /health')
    const text = JSON.stringify({ ...(good.json() as object), more: 1 })
    expect(() => check.answer('GET /health', { status: 200, contentType: 'application/json', text })).toThrow('additional')
    expect(() => check.answer('GET /health', { status: 418, contentType: 'application/json', text: '{}' })).toThrow('418')
    expect(() => check.answer('GET /health', { status: 200, contentType: 'text/html', text })).toThrow('text/html')
  })

  test('names no error that there is not', async () => {
    const { default: description } = await import('../../docs/openapi.json', { with: { type: 'json' } })
    const named = [...JSON.stringify(description.paths).matchAll(/"description":"((?:[A-Z]\w+: [^"]*)+)"/g)].flatMap(([, text = '']) =>
      [...text.matchAll(/(?:^|\. )([A-Z][A-Za-z]+): /g)].map(([, name = '']) => name),
    )
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((name) => !isErrorName(name))).toEqual([])
  })
})
