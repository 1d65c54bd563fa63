/** Budgets: how many runs there are at once, and what a day's turns used, counted once whatever happens on the way. */
import { describe, expect, it } from 'vitest'
import { LoopError } from '../../lib/loop/errors.ts'
import { deployment, NO_DEPLOYMENT } from '../../lib/loop/deployment.ts'
import type { BudgetStore, Ports } from '../../lib/loop/ports.ts'
import { repositoryScope } from '../../lib/loop/run-id.ts'
import { DEPLOYMENT_SCOPE } from '../../lib/loop/spend.ts'
import { startRun } from '../../lib/loop/start.ts'
import { driveUntil, takeStep } from '../support/drive.ts'
import { cleanReview, FakeAgent, fakeAgents, usageOf } from '../support/fake-agent.ts'
import { FakeWorkspaces } from '../support/fake-workspace.ts'
import { memoryRuns } from '../support/memory-store.ts'
import { HEAD, makePorts, stateOf } from '../support/ports.ts'
import { requestOf } from '../support/runs.ts'

const URL = requestOf().repository
const SCOPE = repositoryScope(URL)
const DAY = '2026-01-05'
const OTHER = 'c'.repeat(40)

const facts = (own: object = {}, all: object = {}) => deployment.parse({ repositories: [{ url: URL, budgets: own }], budgets: all })
const loop = (own: object = {}, all: object = {}) =>
  makePorts({
    deployment: facts(own, all),
    workspaces: new FakeWorkspaces({ base: { 'a.js': 'one\n' }, head: { 'a.js': 'two\n' } }),
  })
type Loop = ReturnType<typeof loop>

const start = (ports: Ports, branch: string, head = HEAD, again = false) =>
  startRun(ports, { request: requestOf({ branch, head }), startedBy: 'test', checkHead: false, again })
const named = (thrown: unknown): string => (thrown instanceof LoopError ? thrown.name : String(thrown))
const refused = (call: Promise<unknown>): Promise<string> => call.then(() => 'started', named)
const begin = async (ports: Loop, branch = 'feature') => {
  const { run } = await start(ports, branch)
  return stateOf({ runId: run.runId, next: 'Prepare', commit: HEAD })
}
const end = (ports: Ports, runId: string) =>
  takeStep(ports, stateOf({ runId, next: 'Close', verdict: { outcome: 'aborted', reason: 'aborted', by: 'me', error: null } }))

describe('runs at once', () => {
  it.each([
    ['of the repository', { runs: 5 }, {}],
    ['of the deployment', {}, { runs: 5 }],
    ['of both, the lower', { runs: 9 }, { runs: 5 }],
  ])('50 starts at once at a cap of 5 %s give 5 runs', async (_, own, all) => {
    const ports = loop(own, all)
    const ends = await Promise.all(Array.from({ length: 50 }, (_each, n) => refused(start(ports, `branch-${n}`))))
    expect(ends.filter((said) => said === 'started')).toHaveLength(5)
    expect(ends.filter((said) => said === 'BudgetExceeded')).toHaveLength(45)
    expect(ports.runs.runItems.size).toBe(5)
    expect(ports.executions.started).toHaveLength(5)
    // What was refused left no place taken, of either kind.
    for (const scope of [SCOPE, DEPLOYMENT_SCOPE]) expect((await ports.runs.budgets.places(scope)).length).toBeLessThanOrEqual(5)
  })

  it('the end of a run makes room for another, and closing it again for no further one', async () => {
    const ports = loop({ runs: 1 })
    const { run } = await start(ports, 'one')
    expect(await refused(start(ports, 'two'))).toBe('BudgetExceeded')
    await end(ports, run.runId)
    await end(ports, run.runId)
    expect(await refused(start(ports, 'two'))).toBe('started')
    expect(await refused(start(ports, 'three'))).toBe('BudgetExceeded')
  })

  it('a newer head takes the place of the run that it supersedes, and the end of that one does not free it', async () => {
    const ports = loop({ runs: 1 }, { runs: 1 })
    const older = await start(ports, 'feature')
    const newer = await start(ports, 'feature', OTHER)
    expect(newer.started).toBe(true)
    await takeStep(ports, stateOf({ ...ports.executions.started.at(-1)?.input, runId: older.run.runId, epoch: 2, next: 'Close' }))
    expect(await refused(start(ports, 'two'))).toBe('BudgetExceeded')
    await end(ports, newer.run.runId)
    expect(await refused(start(ports, 'two'))).toBe('started')
  })

  it('whoever asks for the run there is gets it, though no place is free', async () => {
    const ports = loop({ runs: 1 })
    const { run } = await start(ports, 'feature')
    expect(await start(ports, 'feature')).toMatchObject({ started: false, run: { runId: run.runId } })
    const unattended = requestOf({ overrides: { ask: 'never' } })
    const second = await startRun(ports, { request: unattended, startedBy: 'schedule', checkHead: false })
    expect(second).toMatchObject({ started: false, run: { runId: run.runId } })
    await end(ports, run.runId)
    expect(await ports.runs.budgets.places(SCOPE)).toEqual([])
  })

  it('a start that died before there was a run holds its place for minutes, not for ever', async () => {
    const ports = loop({ runs: 1 })
    await ports.runs.budgets.enter(SCOPE, { branch: 'branch#dead', run: 'r-0000000000000000', at: ports.effects.now(), most: 1 })
    expect(await refused(start(ports, 'feature'))).toBe('BudgetExceeded')
    ports.effects.advance(6 * 60_000)
    expect(await refused(start(ports, 'feature'))).toBe('started')
  })

  it('a start that died between the lock of its branch and its run holds its place no longer either', async () => {
    let dead = true
    const runs = memoryRuns({
      before: (operation, key) => {
        if (dead && operation === 'write' && key.startsWith('r-')) throw new LoopError('StoreUnavailable')
      },
    })
    const ports = makePorts({ deployment: facts({ runs: 1 }), runs })
    expect(await refused(start(ports, 'dead'))).toBe('StoreUnavailable')
    dead = false
    expect(await refused(start(ports, 'feature'))).toBe('BudgetExceeded')
    ports.effects.advance(6 * 60_000)
    expect(await refused(start(ports, 'feature'))).toBe('started')
    // Asked for again it is a start like any other.
    expect(await refused(start(ports, 'dead'))).toBe('BudgetExceeded')
  })

  it('a run that is under way keeps its place however long it takes', async () => {
    const ports = loop({ runs: 1 })
    await start(ports, 'feature')
    ports.effects.advance(20 * 24 * 3_600_000)
    expect(await refused(start(ports, 'other'))).toBe('BudgetExceeded')
  })

  it('a start that fails on the way gives its place back', async () => {
    const runs = memoryRuns({
      before: (operation, key) => {
        if (operation === 'write' && key.startsWith('branch#')) throw new LoopError('StoreUnavailable')
      },
    })
    const ports = makePorts({ deployment: facts({ runs: 1 }), runs })
    expect(await refused(start(ports, 'feature'))).toBe('StoreUnavailable')
    expect(await runs.budgets.places(SCOPE)).toEqual([])
  })
})

describe('a day', () => {
  const spend = (ports: Ports, scope: string, tokens: number, dollars = 0) =>
    ports.runs.budgets.add(scope, { day: DAY, id: 'r#1', tokens, microdollars: dollars * 1_000_000 })

  it.each([
    ['tokens of the repository', { day: { tokens: 100 } }, {}, SCOPE, 100, 0],
    ['dollars of the repository', { day: { dollars: 2.5 } }, {}, SCOPE, 0, 2.5],
    ['tokens of the deployment', {}, { day: { tokens: 100 } }, DEPLOYMENT_SCOPE, 100, 0],
    ['dollars of the deployment', {}, { day: { dollars: 1 } }, DEPLOYMENT_SCOPE, 0, 1],
  ])('%s that are used up let no run start until the next', async (_, own, all, scope, tokens, dollars) => {
    const ports = loop(own, all)
    await spend(ports, scope, tokens - 1, dollars === 0 ? 0 : dollars - 0.1)
    expect(await refused(start(ports, 'one'))).toBe('started')
    await ports.runs.budgets.add(scope, { day: DAY, id: 'r#2', tokens: 1, microdollars: 100_000 })
    expect(await refused(start(ports, 'two'))).toBe('BudgetExceeded')
    ports.effects.advance(24 * 3_600_000)
    expect(await refused(start(ports, 'two'))).toBe('started')
  })

  it('of a refusal nothing is left, and people are told once', async () => {
    const ports = loop({ day: { tokens: 1 } })
    await spend(ports, SCOPE, 1)
    for (let n = 0; n < 5; n++) expect(await refused(start(ports, `branch-${n}`))).toBe('BudgetExceeded')
    expect(ports.runs.runItems.size + ports.runs.branchItems.size).toBe(0)
    expect(ports.notices).toMatchObject([{ kind: 'budget', repository: URL }])
  })

  it('that money is used up is told though it was told before that all places were taken', async () => {
    const ports = loop({ runs: 1, day: { dollars: 1 } })
    await start(ports, 'one')
    for (const branch of ['two', 'three']) expect(await refused(start(ports, branch))).toBe('BudgetExceeded')
    await spend(ports, SCOPE, 0, 1)
    for (const branch of ['two', 'three']) expect(await refused(start(ports, branch))).toBe('BudgetExceeded')
    expect(ports.notices.map(({ text }) => text.split('\n')[0])).toEqual([
      expect.stringContaining('all places for 1 run(s) at once are taken'),
      expect.stringContaining('1 of 1 US dollars of today are used'),
    ])
  })

  it('says whose budget it is, and what it was', async () => {
    const ports = loop({ day: { tokens: 50 } })
    await spend(ports, SCOPE, 70)
    await expect(start(ports, 'feature')).rejects.toThrow(`70 of 50 tokens of today are used: the repository ${URL} has no more.`)
  })

  it('without a deployment nothing is bounded and nothing counted', async () => {
    const ports = makePorts({ deployment: NO_DEPLOYMENT })
    await Promise.all(Array.from({ length: 10 }, (_, n) => start(ports, `branch-${n}`)))
    const { state } = await driveUntil(ports, stateOf({ runId: (await start(ports, 'x')).run.runId, next: 'Prepare' }), 'Done')
    expect(state.verdict?.outcome).toBe('approved')
    expect(await ports.runs.budgets.spent(DEPLOYMENT_SCOPE, DAY)).toEqual({ tokens: 0, microdollars: 0 })
  })
})

describe('what turns use', () => {
  const spent = async (ports: Ports) => [
    (await ports.runs.budgets.spent(SCOPE, DAY)).tokens,
    (await ports.runs.budgets.spent(DEPLOYMENT_SCOPE, DAY)).tokens,
  ]

  it('is counted for the repository and for the deployment, once, whatever is tried again', async () => {
    const ports = loop()
    const prepared = await takeStep(ports, await begin(ports))
    const reviewed = await takeStep(ports, prepared)
    expect(await spent(ports)).toEqual([15, 15])
    await takeStep(ports, prepared)
    expect(await spent(ports)).toEqual([15, 15])
    await driveUntil(ports, reviewed, 'Done')
    expect(await spent(ports)).toEqual([15, 15])
  })

  /** Loses one call of the counter after or before it was done. */
  const losing = (budgets: BudgetStore, when: 'before' | 'after'): BudgetStore => {
    let left = 1
    return {
      ...budgets,
      add: async (scope, entry) => {
        const loses = left-- > 0
        if (loses && when === 'before') throw new LoopError('StoreUnavailable')
        await budgets.add(scope, entry)
        if (loses) throw new LoopError('StoreUnavailable')
      },
    }
  }

  it.each(['before', 'after'] as const)('is counted when the turn is retried, where the worker was cut off %s counting', async (when) => {
    const ports = loop()
    const prepared = await takeStep(ports, await begin(ports))
    const cut = { ...ports, runs: { ...ports.runs, budgets: losing(ports.runs.budgets, when) } }
    await expect(takeStep(cut, prepared)).rejects.toMatchObject({ name: 'StoreUnavailable' })
    await takeStep(ports, prepared)
    expect(await spent(ports)).toEqual([15, 15])
  })

  it('is counted at the end of the run, where the turn was never retried', async () => {
    const ports = loop()
    const prepared = await takeStep(ports, await begin(ports))
    const cut = { ...ports, runs: { ...ports.runs, budgets: losing(ports.runs.budgets, 'before') } }
    await expect(takeStep(cut, prepared)).rejects.toMatchObject({ name: 'StoreUnavailable' })
    await takeStep(ports, { ...prepared, next: 'Close', verdict: { outcome: 'aborted', reason: 'aborted', by: 'me', error: null } })
    expect(await spent(ports)).toEqual([15, 15])
  })

  const failing = (error: 'AgentFailed' | 'AgentThrottled') =>
    new FakeAgent('fake', () => ({ kind: 'failed', error, reason: 'no', usage: usageOf(100, 1) }))

  it.each([
    ['failed for good', 'AgentFailed'],
    ['gave its lease back', 'AgentThrottled'],
  ] as const)('of a turn that %s and was not gone on with is counted at the end, once', async (_, error) => {
    const ports = { ...loop(), agents: fakeAgents(failing(error)) }
    const prepared = await takeStep(ports, await begin(ports))
    await expect(takeStep(ports, prepared)).rejects.toMatchObject({ name: error })
    const closing = { ...prepared, next: 'Close', verdict: { outcome: 'failed', reason: 'failed', by: null, error } } as const
    await takeStep(ports, closing)
    await takeStep(ports, closing)
    expect(await spent(ports)).toEqual([101, 101])
  })

  it('of a turn that gave its lease back and was then done is counted with it', async () => {
    const agent = failing('AgentThrottled')
    agent.script.push(agent.done(cleanReview))
    const ports = { ...loop(), agents: fakeAgents(agent) }
    const prepared = await takeStep(ports, await begin(ports))
    await expect(takeStep(ports, prepared)).rejects.toMatchObject({ name: 'AgentThrottled' })
    await driveUntil(ports, prepared, 'Done')
    expect(await spent(ports)).toEqual([116, 116])
  })
})

it('a run that is going ends at its own cap, which the deployment lowers', async () => {
  const ports = loop({ run: { tokens: 12 } })
  const { state } = await driveUntil(ports, await begin(ports), 'Park', 'Done')
  expect(state).toMatchObject({ next: 'Park', last: { ended: 'limit', limit: 'tokens' } })
})
