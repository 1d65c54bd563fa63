/** A turn happens once, on the real tables, and on stores that fail where a test says. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { LoopError } from '../../lib/loop/errors.ts'
import type { RunState } from '../../lib/loop/run.ts'
import { type Claimed, LEASE_SKEW_MS, takeTurn, type Worked } from '../../lib/loop/turns.ts'
import { roleKey } from '../../lib/names.ts'
import { FakeEffects } from '../support/clock.ts'
import { startTables, type Tables } from '../support/tables.ts'
import { FakeAgent, usageOf } from '../support/fake-agent.ts'
import { type Faults, memoryArtifacts, memoryRuns, memorySessions } from '../support/memory-store.ts'
import { invocationOf, RUN_ID, stateOf, turnRecordOf } from '../support/ports.ts'
import { Driver } from '../support/turns.ts'

const reviewer = { runId: RUN_ID, role: 'reviewer' } as const

/** Work that counts how often it was done, and leads to round 7. */
const counted =
  (log: Claimed[], change: Partial<Worked> = {}) =>
  async (claimed: Claimed): Promise<Worked> => {
    log.push(claimed)
    const { turn, fence, input } = claimed
    return {
      state: { ...input, turn, round: 7 },
      record: turnRecordOf({ turn, fence, epoch: input.epoch, summary: `fence ${fence}` }),
      session: null,
      checkpoint: null,
      toBeResumed: false,
      ...change,
    }
  }

describe('on the tables', () => {
  let tables: Tables
  let runs = 0
  let state: RunState
  const effects = new FakeEffects()
  beforeAll(async () => {
    tables = await startTables()
  })
  afterAll(() => tables.close())
  beforeEach(() => {
    state = stateOf({ runId: `r-${String(++runs).padStart(16, '0')}` })
    tables.calls.length = 0
  })
  const take = (
    work: (claimed: Claimed) => Promise<Worked>,
    from: Partial<RunState> = {},
    stores: Pick<Tables, 'sessions' | 'runs'> = tables,
  ) => {
    const ports = { ...stores, effects }
    return takeTurn(ports, { role: 'reviewer', state: { ...state, ...from }, invocation: invocationOf(ports), work })
  }

  it('one strongly consistent read and two writes a turn on Sessions', async () => {
    const driver = new Driver({ sessions: tables.sessions, runs: tables.runs, artifacts: memoryArtifacts(), effects }, state)
    for (let turn = 1; turn <= 2; turn++) {
      tables.calls.length = 0
      await driver.take('reviewer', { agents: [new FakeAgent()] })
      expect(tables.calls.filter((call) => call.table === tables.names.sessions)).toEqual([
        { table: tables.names.sessions, command: 'GetItemCommand', consistent: true },
        { table: tables.names.sessions, command: 'PutItemCommand', consistent: false },
        { table: tables.names.sessions, command: 'PutItemCommand', consistent: false },
      ])
      expect(tables.calls.filter((call) => call.table === tables.names.runs)).toHaveLength(1)
    }
  })

  it('entered again it gives the recorded state: no work, no write on Sessions, one turn in the history', async () => {
    const log: Claimed[] = []
    const first = await take(counted(log))
    tables.calls.length = 0
    expect(await take(counted(log))).toEqual(first)
    expect(log).toHaveLength(1)
    expect(tables.calls.filter((call) => call.table === tables.names.sessions).map((call) => call.command)).toEqual(['GetItemCommand'])
    expect(await tables.runs.turns(state.runId)).toHaveLength(1)
  })

  it('case 25: two workers at once: one works, the other finds it busy', async () => {
    const log: Claimed[] = []
    const answers = await Promise.allSettled([take(counted(log)), take(counted(log), {}, tables.another())])
    const settled = answers.map((answer) => (answer.status === 'fulfilled' ? 'done' : (answer.reason as Error).name)).sort()
    expect([
      ['TurnBusy', 'done'],
      ['done', 'done'],
    ]).toContainEqual(settled)
    expect(log).toHaveLength(1)
  })

  it('case 25: two workers hold one turn: the one whose lease was over is discarded, and its session with it', async () => {
    const log: Claimed[] = []
    const late = new Promise<RunState>((resolve, reject) => {
      void take(async (claimed) => {
        effects.advance(14 * 60_000 + LEASE_SKEW_MS)
        await take(counted(log))
        return counted(log)(claimed)
      }).then(resolve, reject)
    })
    // The turn is done by the time the late one wants to finish: it is given what is recorded.
    expect(await late).toMatchObject({ turn: 1, round: 7 })
    const item = await tables.sessions.read({ runId: state.runId, role: 'reviewer' })
    expect(item).toMatchObject({ fence: 2, done: { record: { fence: 2, summary: 'fence 2' } } })
    expect((await tables.runs.turns(state.runId)).map((turn) => turn.fence)).toEqual([2])
  })

  it('case 25: a finish under an old fence, while another worker holds the turn, is discarded: StaleTurn', async () => {
    const slow = take(async (claimed) => {
      effects.advance(14 * 60_000 + LEASE_SKEW_MS)
      void take(() => new Promise(() => undefined))
      while ((await tables.sessions.read({ runId: state.runId, role: 'reviewer' }))?.fence !== 2)
        await new Promise((resolve) => setTimeout(resolve, 1))
      return counted([])(claimed)
    })
    await expect(slow).rejects.toMatchObject({ name: 'StaleTurn' })
    expect(await tables.sessions.read({ runId: state.runId, role: 'reviewer' })).toMatchObject({
      fence: 2,
      done: null,
      running: { turn: 1 },
      failed: null,
    })
  })

  it('an execution of a lower epoch is stale, before and after the claim of a newer one', async () => {
    await take(counted([]), { epoch: 2 })
    await expect(take(counted([]), { epoch: 1 })).rejects.toMatchObject({ name: 'StaleExecution' })
    expect(await take(counted([]), { epoch: 3 })).toMatchObject({ epoch: 3, turn: 1 })
  })

  it('a turn before one that has finished is stale', async () => {
    await take(counted([]), { turn: 4 })
    await expect(take(counted([]), { turn: 2 })).rejects.toMatchObject({ name: 'StaleTurn' })
  })
})

describe('when something fails', () => {
  let faults: Faults
  let effects: FakeEffects
  let sessions: ReturnType<typeof memorySessions>
  let runs: ReturnType<typeof memoryRuns>
  beforeEach(() => {
    faults = {}
    effects = new FakeEffects()
    sessions = memorySessions(faults)
    runs = memoryRuns(faults)
  })
  const item = () => sessions.items.get(roleKey(RUN_ID, 'reviewer'))
  const take = (work: (claimed: Claimed) => Promise<Worked>, options: { signal?: AbortSignal; state?: Partial<RunState> } = {}) => {
    const ports = { sessions, runs, effects }
    const invocation = invocationOf(ports, options.signal ? { signal: options.signal } : {})
    return takeTurn(ports, { role: 'reviewer', state: stateOf(options.state), invocation, work })
  }
  const fail = (error: Error) => async (): Promise<Worked> => {
    throw error
  }

  it.each(['AgentThrottled', 'AgentTimedOut', 'GitTimedOut', 'StoreUnavailable', 'AgentCancelled', 'Interrupted'] as const)(
    '%s gives the lease back under its fence: the turn can be taken at once, with the same input',
    async (name) => {
      await expect(take(fail(new LoopError(name)), { state: { round: 1 } })).rejects.toMatchObject({ name })
      expect(item()).toMatchObject({ fence: 1, running: { turn: 1, leaseUntil: 0 }, failed: null })
      const log: Claimed[] = []
      await take(counted(log), { state: { round: 2 } })
      expect(log).toMatchObject([{ fence: 2, input: { round: 1 } }])
    },
  )

  it.each(['AgentFailed', 'AgentRefused', 'ArtifactLost', 'ChangeTooLarge'] as const)(
    '%s fails the turn for good, under its own name',
    async (name) => {
      await expect(take(fail(new LoopError(name, 'because')))).rejects.toMatchObject({ name })
      expect(item()).toMatchObject({ running: null, failed: { turn: 1, error: name, message: 'because' } })
      const log: Claimed[] = []
      await expect(take(counted(log))).rejects.toMatchObject({ name, message: 'because' })
      expect(log).toEqual([])
    },
  )

  it('what has no row of its own is Unexpected, and fails for good', async () => {
    await expect(take(fail(new TypeError('x is not a function')))).rejects.toMatchObject({ name: 'Unexpected' })
    expect(item()?.failed).toMatchObject({ error: 'Unexpected' })
  })

  it('whatever an interrupted turn fails with, it is given back', async () => {
    const controller = new AbortController()
    controller.abort()
    await expect(take(fail(new Error('aborted')), { signal: controller.signal })).rejects.toMatchObject({ name: 'Unexpected' })
    expect(item()).toMatchObject({ running: { leaseUntil: 0 }, failed: null })
  })

  it.each(['StaleTurn', 'StaleExecution'] as const)('%s from within changes nothing', async (name) => {
    await expect(take(fail(new LoopError(name)))).rejects.toMatchObject({ name })
    expect(item()).toMatchObject({ rev: 1, failed: null })
    expect(item()?.running?.leaseUntil).toBeGreaterThan(0)
  })

  it('the lease is the deadline and some for clocks that differ', async () => {
    const log: Claimed[] = []
    await take(counted(log))
    expect(log[0]?.item.running?.leaseUntil).toBe(invocationOf({ effects }).deadline + LEASE_SKEW_MS)
  })

  it('what a failed attempt used is carried to the one that finishes', async () => {
    await expect(take(fail(new LoopError('AgentThrottled', 'later', { usage: usageOf() })))).rejects.toMatchObject({
      name: 'AgentThrottled',
    })
    const log: Claimed[] = []
    await take(counted(log))
    expect(log[0]?.item.running?.used).toEqual(usageOf())
  })

  it('a write whose answer was lost took: neither claim nor finish is done twice', async () => {
    let writes = 0
    // The first claim, and the finish that the second claim leads to.
    faults.after = (operation) => {
      if (operation === 'write' && [1, 3].includes(++writes)) throw new LoopError('StoreUnavailable')
    }
    const log: Claimed[] = []
    const outcomes: string[] = []
    for (let tries = 0; tries < 5; tries++) {
      await take(counted(log)).then(
        () => outcomes.push('done'),
        (error: Error) => outcomes.push(error.name),
      )
      effects.advance(16 * 60_000)
    }
    expect(outcomes).toEqual(['StoreUnavailable', 'StoreUnavailable', 'done', 'done', 'done'])
    expect(log).toHaveLength(1)
    expect(await runs.turns(RUN_ID)).toHaveLength(1)
  })

  it('a crash after the finish and before the history leaves the history to the retry', async () => {
    faults.before = (operation) => {
      if (operation === 'addTurn') throw new LoopError('StoreUnavailable')
    }
    const log: Claimed[] = []
    await expect(take(counted(log))).rejects.toMatchObject({ name: 'StoreUnavailable' })
    expect(item()).toMatchObject({ running: null, done: { turn: 1 }, failed: null })
    delete faults.before
    await take(counted(log))
    expect(log).toHaveLength(1)
    expect(await runs.turns(RUN_ID)).toHaveLength(1)
  })

  it('a finish that loses to somebody who only moved the TTL is written over what they wrote', async () => {
    const state = await take(async (claimed) => {
      const now = item()
      if (now) await sessions.write(reviewer, { ...now, rev: now.rev + 1, nonce: 'park', ttl: now.ttl + 100 })
      return counted([])(claimed)
    })
    expect(state.round).toBe(7)
    expect(item()).toMatchObject({ rev: 3, done: { turn: 1 } })
  })

  it.each([
    ['a claim', 1],
    ['a finish', 2],
  ])('%s that others always beat ends as StoreConflict, after a bounded number of tries', async (_name, rev) => {
    let writes = 0
    const stored = memorySessions()
    sessions.read = (key) => stored.read(key)
    sessions.write = async (key, next) => {
      if (next.rev < rev || next.running?.leaseUntil === 0) return stored.write(key, next)
      writes++
      return false
    }
    await expect(take(counted([]))).rejects.toMatchObject({ name: 'StoreConflict' })
    expect(writes).toBeGreaterThan(1)
    expect(writes).toBeLessThan(20)
  })

  it('a store that is away while a lease is given back does not hide why the turn ended', async () => {
    let isDown = false
    faults.before = () => {
      if (isDown) throw new LoopError('StoreUnavailable')
    }
    const thrown = take(async () => {
      isDown = true
      throw new LoopError('AgentThrottled')
    })
    await expect(thrown).rejects.toMatchObject({ name: 'AgentThrottled' })
    expect(effects.logged).toMatchObject([{ level: 'warn', message: 'the turn was not given back' }])
  })

  it('a recorded failure that has no row is TurnFailed', async () => {
    await expect(take(fail(new LoopError('AgentFailed')))).rejects.toMatchObject({ name: 'AgentFailed' })
    const now = item()
    if (!now) throw new Error('no item')
    sessions.items.set(roleKey(RUN_ID, 'reviewer'), { ...now, failed: { turn: 1, error: 'OfAnOlderVersion', message: 'gone' } })
    await expect(take(counted([]))).rejects.toMatchObject({ name: 'TurnFailed', message: 'gone' })
  })

  it('only a lease of this very owner holds: those of an earlier owner of the data folder are over', async () => {
    effects.owner = 'first'
    void take(() => new Promise(() => undefined))
    await Promise.resolve()
    await expect.poll(() => item()?.running?.owner).toBe('first')
    await expect(take(counted([]))).rejects.toMatchObject({ name: 'TurnBusy' })
    effects.owner = 'second'
    expect(await take(counted([]))).toMatchObject({ turn: 1 })
    expect(item()).toMatchObject({ fence: 2 })
  })
})
