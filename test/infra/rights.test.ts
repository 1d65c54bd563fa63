/** Whole runs in which every function has the rights of its role and no others: they suffice, and none is idle. */
import { createHash } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { handler as publishHandler } from '../../functions/publish/handler.ts'
import { handler as abort } from '../../functions/abort/handler.ts'
import { handler as answerHandler } from '../../functions/answer/handler.ts'
import { handler as report } from '../../functions/report/handler.ts'
import { handler as show } from '../../functions/show/handler.ts'
import { handler as uploadHandler } from '../../functions/upload/handler.ts'
import { handler as webhookHandler } from '../../functions/webhook/handler.ts'
import { handler as startHandler } from '../../functions/start/handler.ts'
import { ACCESS } from '../../lib/infra/access.ts'
import { watch } from '../../lib/loop/watch.ts'
import { readJson } from '../../lib/loop/artifact.ts'
import type { AgentTurn } from '../../lib/loop/agent.ts'
import { runRecord } from '../../lib/loop/record.ts'
import { recordFailure, recordLostExecution } from '../../lib/loop/record-failure.ts'
import type { UploadOffers } from '../../lib/loop/ports.ts'
import type { Teller } from '../../lib/loop/telling.ts'
import type { RunState } from '../../lib/loop/run.ts'
import { repositoryScope } from '../../lib/loop/run-id.ts'
import { makeCallers, noTokens } from '../../lib/runtime/caller.ts'
import { NO_DEPLOYMENT } from '../../lib/loop/deployment.ts'
import { type ApiRoute, executionName, type FunctionName, MAX_PARK_DAYS, type Step } from '../../lib/names.ts'
import { takeStep } from '../support/drive.ts'
import { servedId, usageOf } from '../support/fake-agent.ts'
import { FakeWorkspaces } from '../support/fake-workspace.ts'
import { answered, apiEvent, type Call } from '../support/http.ts'
import { type Guard, guard } from '../support/guarded-ports.ts'
import { asker } from '../support/iam.ts'
import { deploymentOf, invocationOf, makePorts, stateOf } from '../support/ports.ts'
import { synthesize } from '../support/template.ts'
import { commentOf, deliveryOf, FakePulls, GITHUB, githubRepository, HOOK_SECRET_TEXT, pullRequestOf } from '../support/webhooks.ts'

const FUNCTIONS = Object.keys(ACCESS) as FunctionName[]
const wakes = FUNCTIONS.filter((name) => ACCESS[name].machine.includes('SendTaskSuccess'))
const guarded: Guard = guard(asker(synthesize()), wakes)

const callers = makeCallers(NO_DEPLOYMENT, noTokens)
const REPOSITORY = { url: 'https://git.example/team/project', defaultBranch: 'main' }

const BUDGETS = { runs: 9, day: { tokens: 1_000_000_000 } }

const NIGHTLY = deploymentOf(REPOSITORY.url, { triggers: { schedule: { branch: 'develop' } } })

/** A forge that takes one piece of news. */
const TELLER: Teller = {
  tells: () => true,
  tell: async ({ phase }, board) => {
    const made = { id: '1', url: null }
    await board.bring('status', { says: phase, find: async () => null, create: async () => made, update: async () => {} })
  },
}

const makeLoop = () =>
  makePorts({
    teller: TELLER,
    deployment: deploymentOf(REPOSITORY.url, { budgets: BUDGETS }),
    workspaces: new FakeWorkspaces({ base: { 'a.js': 'one\n' }, head: { 'a.js': 'one\nbad\n' } }),
  })
type Loop = ReturnType<typeof makeLoop>

/** Through the function's own handler, as the API calls it. */
const start = async (ports: Loop, head = 'a'.repeat(40)): Promise<RunState> => {
  ports.forge.head = head
  const body = { repository: REPOSITORY.url, branch: 'feature', overrides: { ask_hours: MAX_PARK_DAYS * 24 } }
  const answer = answered('POST /runs', await startHandler(guarded.for(ports, 'Start'), callers)(apiEvent('POST /runs', { body })))
  expect(answer.status).toBe(201)
  const { run } = answer.json() as { run: { runId: string } }
  return stateOf({ runId: run.runId, next: 'Prepare', commit: head })
}

/** Steps of the machine, each with the rights of its own function. */
const drive = async (ports: Loop, from: RunState, until: Step): Promise<RunState> => {
  let state = from
  while (state.next !== until) {
    if (state.next === 'Done' || state.next === 'Failed') throw new Error(`the run ended before ${until}`)
    state = await takeStep(guarded.for(ports, state.next), state)
  }
  return state
}

const finds = (action: 'auto-fix' | 'ask-user', ...rules: string[]) => ({
  findings: rules.map((rule) => ({ rule, severity: 'error' as const, action, file: 'a.js', line: 2, text: 'bad' })),
  accounts: [],
  skipped: [],
  summary: 'found one',
})

/** Stops in the middle, with work that is not committed. */
const checkpoint = async (turn: AgentTurn) => {
  await turn.edits?.write('a.js', new TextEncoder().encode(`one\nbad ${turn.turn}\n`))
  turn.transcript.append('half')
  return { kind: 'checkpoint' as const, usage: usageOf(), sessionId: servedId(turn, () => `of-${turn.role}`) ?? 'of-nobody' }
}
const accounts = (ports: Loop) => (turn: AgentTurn) => {
  const { task } = turn.prompt
  const fixed = task.kind === 'fix' ? [] : task.outstanding.map(({ id }) => ({ id, status: 'fixed' as const }))
  return ports.agent.done({ findings: [], accounts: fixed, skipped: [], summary: 'mended' })(turn)
}
const mends = (ports: Loop) => (turn: AgentTurn) => {
  const given = turn.prompt.task.kind === 'fix' ? turn.prompt.task.findings : []
  return ports.agent.done({ results: given.map(({ id }) => ({ id, status: 'fixed' })), summary: 'mended' })(turn)
}

/** Every role stops at a checkpoint and goes on; a certifier finds more; then a person decides. */
const wholeRun = async (): Promise<RunState> => {
  const ports = makeLoop()
  const { agent } = ports
  agent.script.push(checkpoint, agent.done(finds('auto-fix', 'bad-word')), checkpoint, mends(ports), accounts(ports))
  agent.script.push(checkpoint, agent.done(finds('ask-user', 'bad-word', 'odd-word')))
  const asking = await drive(ports, await start(ports), 'Park')
  // So long after the certifier's turn that its item would expire while the run is parked.
  ports.effects.advance(80 * 24 * 3600 * 1000)
  const parked = await drive(ports, asking, 'Decide')
  const [id = '', other = ''] = await openIds(ports, parked.record)
  // The token of the execution that waits is answered; here it is one that nobody waits for.
  const decided = { id: parked.runId, body: { answer: { kind: 'fix', findings: [id], decline: [other] } } }
  await api(ports, 'Answer', 'POST /runs/{id}/decision', decided)
  // Park entered again: the answer is there already.
  await takeStep(guarded.for(ports, 'Park'), { ...parked, next: 'Park' })
  agent.script.push(checkpoint, mends(ports), accounts(ports), accounts(ports))
  // The fixer has committed, and the run goes on: its patch and its report so far.
  const going = await drive(ports, parked, 'Publish')
  for (const format of ['json', 'patch']) await api(ports, 'Report', 'GET /runs/{id}/report', { id: going.runId, query: { format } })
  const done = await drive(ports, going, 'Done')
  await publishHandler(guarded.for(ports, 'Publish'))({ tell: done.runId }, invocationOf(ports))
  expect(ports.runs.forgeItems.get(`${done.runId}#forge`)).toMatchObject({ pieces: { status: { id: '1' } }, busy: null })
  await api(ports, 'Report', 'GET /runs/{id}/report', { id: done.runId })
  await api(ports, 'Show', 'GET /runs/{id}', { id: done.runId })
  await api(ports, 'Show', 'GET /runs')
  await watch(guarded.for(ports, 'Watch'))
  return done
}

/** One call of a function of the API, with its rights. */
const api = async (ports: Loop, name: 'Show' | 'Report' | 'Answer' | 'Abort', route: ApiRoute, call: Call = {}): Promise<void> => {
  const own = guarded.for(ports, name)
  const handlers = {
    Show: show(own, callers),
    Report: report(own, callers, null),
    Answer: answerHandler(own, callers),
    Abort: abort(own, callers),
  }
  expect(answered(route, await handlers[name](apiEvent(route, call))).status).toBe(200)
}

const openIds = async (ports: Loop, record: string | null): Promise<string[]> => {
  const { findings } = await readJson(ports.artifacts, record ?? '', runRecord)
  return findings.filter(({ status }) => status === 'open').map(({ id }) => id)
}

/** A newer head ends the older run; a failure and a lost execution end theirs. */
const otherEnds = async (): Promise<Step[]> => {
  const ports = makeLoop()
  await drive(ports, await start(ports), 'Review')
  const newer = await start(ports, 'c'.repeat(40))
  await recordLostExecution(guarded.for(ports, 'RecordFailure'), { name: executionName(newer.runId, 1), status: 'TIMED_OUT' })
  const failing = makeLoop()
  const begun = await drive(failing, await start(failing), 'Review')
  const failed = await recordFailure(guarded.for(failing, 'RecordFailure'), { ...begun, error: { Error: 'AgentFailed', Cause: 'why' } })
  const aborted = makeLoop()
  const under = await drive(aborted, await start(aborted), 'Review')
  await api(aborted, 'Abort', 'POST /runs/{id}/abort', { id: under.runId })
  const closed = await Promise.all([
    ...ports.executions.started.filter(({ name }) => name.endsWith('-2')).map(({ input }) => takeStep(guarded.for(ports, 'Close'), input)),
    takeStep(guarded.for(failing, 'Close'), failed),
    takeStep(guarded.for(aborted, 'Close'), aborted.executions.started.at(-1)!.input),
  ])
  return closed.map(({ next }) => next)
}

let verdict: RunState['verdict']
let ends: Step[]
let deliveries: string[]
let afterBundle: Step
beforeAll(async () => {
  verdict = (await wholeRun()).verdict
  ends = await otherEnds()
  deliveries = await byWebhook()
  afterBundle = await byBundle()
})

/** A bundle is uploaded, and Prepare reads it. */
const byBundle = async (): Promise<Step> => {
  const facts = deploymentOf(REPOSITORY.url, { forge: { kind: 'bundle' } })
  const ports = { ...makeLoop(), deployment: facts }
  const bundle = new TextEncoder().encode('bundle')
  const upload = createHash('sha256').update(bundle).digest('hex')
  const own = guarded.for(ports, 'Upload')
  const offers: UploadOffers = {
    offer: async ({ key }) => {
      await own.artifacts.put(key, bundle)
      return { url: 'https://bucket.example/', headers: {}, expiresAt: '2026-01-05T09:15:00.000Z' }
    },
  }
  const wanted = { repository: REPOSITORY.url, bytes: bundle.length, sha256: upload }
  answered('POST /uploads', await uploadHandler(own, callers, offers)(apiEvent('POST /uploads', { body: wanted })))
  const body = { repository: REPOSITORY.url, branch: 'feature', head: 'a'.repeat(40), bundle: { upload, base: 'b'.repeat(40) } }
  const answer = answered('POST /runs', await startHandler(guarded.for(ports, 'Start'), callers)(apiEvent('POST /runs', { body })))
  const { run } = answer.json() as { run: { runId: string } }
  return (await drive(ports, stateOf({ runId: run.runId, next: 'Prepare', commit: 'a'.repeat(40) }), 'Review')).next
}

test('a schedule starts a run of its branch, and is shown the run there is', async () => {
  const ports = { ...makeLoop(), deployment: NIGHTLY }
  const scheduled = { schedule: { repository: REPOSITORY.url, at: '2026-01-05T03:00:00Z' } }
  const call = () => startHandler(guarded.for(ports, 'Start'), callers)(scheduled)
  expect(await call()).toMatchObject({ started: true })
  expect(await call()).toMatchObject({ started: false })
  const [run] = ports.runs.runItems.values()
  expect(run?.request).toMatchObject({ branch: 'develop', publishTo: 'reviewloop/nightly-develop', overrides: { ask: 'never' } })
})

/** A night with fixes of an earlier one that are carried over, from its schedule to its end. */
const byNight = async (): Promise<RunState> => {
  const loop = makeLoop()
  const carried = { id: 'd'.repeat(40), message: 'carried', time: 1, changes: [{ kind: 'delete' as const, path: 'b.js' }] }
  const workspaces = {
    open: loop.workspaces.open.bind(loop.workspaces),
    compare: loop.workspaces.compare.bind(loop.workspaces),
    fetch: async (...args: Parameters<typeof loop.workspaces.fetch>) => ({
      ...(await loop.workspaces.fetch(...args)),
      night: { tip: 'e'.repeat(40), carried, left: 0, notices: [] },
    }),
  }
  const ports = { ...loop, deployment: NIGHTLY, workspaces }
  const started = await startHandler(guarded.for(ports, 'Start'), callers)({ schedule: { repository: REPOSITORY.url } })
  const { runId } = started as { runId: string }
  const prepared = await takeStep(guarded.for(ports, 'Prepare'), stateOf({ runId, next: 'Prepare' }))
  const clean = { outcome: 'approved', reason: 'clean', by: null, error: null } as const
  await takeStep(guarded.for(ports, 'Close'), { ...prepared, next: 'Close', verdict: clean })
  expect(ports.runs.nightItems.size).toBe(1)
  return prepared
}

test('a night carries the fixes of earlier ones over, to be certified', async () => {
  expect(await byNight()).toMatchObject({
    next: 'Review',
    commit: 'd'.repeat(40),
    fixed: true,
    changeset: expect.stringMatching(/^changesets\/prepare\//) as string,
  })
})

/** The repository's budget of the day is used up. */
const spendAll = (ports: Loop, url: string): Promise<void> =>
  ports.runs.budgets.add(repositoryScope(url), {
    day: new Date(ports.effects.now()).toISOString().slice(0, 10),
    id: 'all',
    tokens: BUDGETS.day.tokens,
    microdollars: 0,
  })

test('a start over a budget is refused, and people are told', async () => {
  const ports = makeLoop()
  await spendAll(ports, REPOSITORY.url)
  const event = apiEvent('POST /runs', { body: { repository: REPOSITORY.url, branch: 'feature' } })
  const answer = answered('POST /runs', await startHandler(guarded.for(ports, 'Start'), callers)(event))
  expect(answer.status).toBe(429)
  expect(ports.notices).toMatchObject([{ kind: 'budget', repository: REPOSITORY.url }])
})

/** Deliveries that start, supersede, command and end runs. */
const byWebhook = async (): Promise<string[]> => {
  const ports = { ...makeLoop(), deployment: deploymentOf(GITHUB.url, { ...githubRepository, budgets: BUDGETS }), pulls: new FakePulls() }
  const secrets = async () => {
    await guarded.readHookSecret('Webhook')
    return [HOOK_SECRET_TEXT]
  }
  const deliver = async (event: string, payload: unknown) => {
    const answer = (await webhookHandler(guarded.for(ports, 'Webhook'), secrets)(deliveryOf(event, payload))) as { body: string }
    return JSON.parse(answer.body) as { outcome: string; runId: string }
  }
  const say = (text: string) => deliver('issue_comment', commentOf(text, ports.effects.now() + 1000))
  const first = await deliver('pull_request', pullRequestOf())
  ports.forge.head = 'c'.repeat(40)
  const second = await deliver('pull_request', pullRequestOf('synchronize', { head: { sha: ports.forge.head } }))
  ports.agent.script.push(ports.agent.done(finds('ask-user', 'bad-word')))
  await drive(ports, stateOf({ runId: second.runId, next: 'Prepare', commit: ports.forge.head }), 'Decide')
  const answers = [await say('/reviewloop fix'), await say('/reviewloop abort')]
  await spendAll(ports, GITHUB.url)
  ports.forge.head = 'd'.repeat(40)
  const refused = await deliver('pull_request', pullRequestOf('synchronize', { head: { sha: ports.forge.head } }))
  return [first, second, ...answers, refused].map(({ outcome }) => outcome)
}

test('the runs came to their ends', () => {
  expect(verdict).toMatchObject({ outcome: 'approved', reason: 'certified' })
  expect(ends).toEqual(['Done', 'Failed', 'Failed', 'Done'])
  expect(afterBundle).toBe('Review')
  expect(deliveries).toEqual(['started', 'started', 'decided', 'aborted', 'refused'])
})

test('no function was refused anything', () => {
  expect(guarded.denied).toEqual([])
})

const like = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .replaceAll(/[.#/+]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  )

test('no function has a right that it does not use', () => {
  const rights = FUNCTIONS.flatMap((name) => {
    const { sessions, runs, get, put, delete: remove, machine, gitToken, pushToken, githubKey, hookSecret, announce, notify } = ACCESS[name]
    const tables = { sessions, runs }
    return [
      ...(['sessions', 'runs'] as const).flatMap((right) =>
        tables[right].flatMap(({ actions, keys }) => actions.flatMap((action) => keys.map((on) => ({ name, right, action, on })))),
      ),
      ...get.map((on) => ({ name, right: 'get', action: 'GetObject', on: `${on}/*` })),
      ...put.map((on) => ({ name, right: 'put', action: 'PutObject', on: `${on}/*` })),
      ...remove.map((on) => ({ name, right: 'delete', action: 'DeleteObject', on: `${on}/*` })),
      ...machine.map((action) => ({ name, right: 'machine', action, on: '*' })),
      ...(gitToken ? [{ name, right: 'gitToken', action: 'GetSecretValue', on: '*' }] : []),
      ...(pushToken ? [{ name, right: 'pushToken', action: 'GetSecretValue', on: '*' }] : []),
      ...(githubKey ? [{ name, right: 'githubKey', action: 'GetSecretValue', on: '*' }] : []),
      ...(hookSecret ? [{ name, right: 'hookSecret', action: 'GetSecretValue', on: '*' }] : []),
      ...(notify ? [{ name, right: 'notify', action: 'Publish', on: '*' }] : []),
      ...(announce ? [{ name, right: 'announce', action: 'InvokeFunction', on: '*' }] : []),
    ]
  })
  expect(rights.length).toBeGreaterThan(50)
  const idle = rights.filter(
    ({ name, right, action, on }) =>
      !guarded.used.some((use) => use.name === name && use.right === right && use.action === action && like(on).test(use.on)),
  )
  expect(idle.map(({ name, right, action, on }) => `${name} ${right} ${action} ${on}`)).toEqual([])
})
