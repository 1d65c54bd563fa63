import { describe, expect, it } from 'vitest'
import { type TurnItem, turnItem } from '../../lib/loop/items.ts'
import {
  claim,
  type ClaimRequest,
  extendTtl,
  failForGood,
  finish,
  type FinishRequest,
  ITEM_TTL_SECONDS,
  release,
  tombstone,
} from '../../lib/loop/turn-item.ts'
import { T0 } from '../support/clock.ts'
import { usageOf } from '../support/fake-agent.ts'
import { RUN_ID, stateOf, turnRecordOf } from '../support/ports.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE
const seconds = (ms: number): number => Math.floor(ms / 1000)

const session = {
  role: 'reviewer' as const,
  agent: 'fake',
  agentVersion: '1',
  id: 'session-1',
  cycle: 0,
  transcript: 'transcripts/reviewer/r/1.1',
  checksum: 'c',
  tokens: 10,
  startedAt: new Date(T0).toISOString(),
  usedAt: new Date(T0).toISOString(),
  expiresAt: new Date(T0 + 7 * DAY).toISOString(),
}
const checkpoint = { turn: 2, agent: 'fake', agentVersion: '1', id: 'session-1', transcript: 't', checksum: 'c', work: null }

/** Turn 2 has finished under fence 4. */
const doneItem = (change: Partial<TurnItem> = {}): TurnItem => ({
  runId: RUN_ID,
  role: 'reviewer',
  rev: 7,
  nonce: 'before',
  epoch: 1,
  fence: 4,
  closed: false,
  session,
  checkpoint,
  done: { turn: 2, state: stateOf({ turn: 2 }), record: turnRecordOf({ turn: 2, fence: 4 }) },
  running: null,
  failed: null,
  fingerprints: ['aaa'],
  ttl: seconds(T0) + 1000,
  ...change,
})
/** Turn 3 runs under fence 5 with an input that says round 2. */
const runningItem = (running: Partial<TurnItem['running']> = {}, change: Partial<TurnItem> = {}): TurnItem =>
  doneItem({
    rev: 8,
    fence: 5,
    running: { turn: 3, input: stateOf({ turn: 2, round: 2 }), leaseUntil: T0 + MINUTE, owner: null, ...running },
    ...change,
  })

const request = (change: Partial<ClaimRequest> = {}): ClaimRequest => ({
  runId: RUN_ID,
  role: 'reviewer',
  turn: 3,
  epoch: 1,
  input: stateOf({ turn: 2 }),
  leaseUntil: T0 + 15 * MINUTE,
  now: T0,
  owner: null,
  nonce: 'now',
  ...change,
})
const finishing = (change: Partial<FinishRequest> = {}): FinishRequest => ({
  turn: 3,
  fence: 5,
  state: stateOf({ turn: 3, round: 3 }),
  record: turnRecordOf({ turn: 3, fence: 5 }),
  session: { ...session, id: 'session-2' },
  checkpoint: null,
  fingerprint: 'bbb',
  now: T0,
  nonce: 'now',
  ...change,
})
const failed = { turn: 3, error: 'AgentRefused', message: 'no' }

describe('a turn is claimed', () => {
  const rows: [string, TurnItem | null, Partial<ClaimRequest>, object][] = [
    ['a tombstone: ends silently', doneItem({ closed: true }), {}, { kind: 'stale', error: 'StaleExecution' }],
    ['a tombstone, of a turn that is done: ends silently all the same', doneItem({ closed: true }), { turn: 2 }, { kind: 'stale' }],
    ['a higher epoch: ends silently', doneItem({ epoch: 2 }), {}, { kind: 'stale', error: 'StaleExecution' }],
    ['a higher epoch, of a turn that is done: no answer either', doneItem({ epoch: 2 }), { turn: 2 }, { kind: 'stale' }],
    ['nothing: runs under fence 1', null, { turn: 1 }, { kind: 'run', fence: 1 }],
    ['only turns before: runs under the next fence', doneItem(), {}, { kind: 'run', fence: 5 }],
    ['a turn before that failed for good: runs', doneItem({ failed: { ...failed, turn: 1 } }), {}, { kind: 'run', fence: 5 }],
    ['this turn, its lease valid: busy until then', runningItem(), {}, { kind: 'busy', until: T0 + MINUTE }],
    ['this turn, its lease valid, under a higher epoch: busy', runningItem(), { epoch: 2 }, { kind: 'busy' }],
    ['this turn, its lease over: runs', runningItem(), { now: T0 + MINUTE }, { kind: 'run', fence: 6 }],
    ['this turn, given back: runs', runningItem({ leaseUntil: 0 }), {}, { kind: 'run', fence: 6 }],
    ['this turn, leased by a dead owner: runs', runningItem({ owner: 'dead' }), { owner: 'alive' }, { kind: 'run', fence: 6 }],
    ['this turn, leased by this very owner: busy', runningItem({ owner: 'alive' }), { owner: 'alive' }, { kind: 'busy' }],
    ['this turn, done: the recorded result', doneItem(), { turn: 2 }, { kind: 'done', record: { turn: 2 } }],
    ['this turn, failed for good: the failure', doneItem({ failed }), {}, { kind: 'failed', error: 'AgentRefused', message: 'no' }],
    ['a turn after, done: stale', doneItem(), { turn: 1 }, { kind: 'stale', error: 'StaleTurn' }],
    ['a turn after, running: stale though this one is done', runningItem(), { turn: 2 }, { kind: 'stale', error: 'StaleTurn' }],
    ['a turn after, failed: stale', doneItem({ failed }), { turn: 2 }, { kind: 'stale', error: 'StaleTurn' }],
  ]
  it.each(rows)('the item says %s', (_name, item, change, answer) => {
    expect(claim(item, request(change))).toMatchObject(answer)
  })

  const claimed = (item: TurnItem | null, change: Partial<ClaimRequest> = {}) => {
    const answer = claim(item, request(change))
    if (answer.kind !== 'run') throw new Error(`not claimed: ${answer.kind}`)
    return answer
  }

  it('writes the whole item under the next version, with lease, owner and a fresh TTL', () => {
    const { item } = claimed(doneItem(), { owner: 'me' })
    expect(item).toEqual({
      ...doneItem(),
      rev: 8,
      nonce: 'now',
      fence: 5,
      running: { turn: 3, input: stateOf({ turn: 2 }), leaseUntil: T0 + 15 * MINUTE, owner: 'me' },
      ttl: seconds(T0) + ITEM_TTL_SECONDS,
    })
    expect(turnItem.parse(item)).toEqual(item)
  })

  it('makes the item where there is none', () => {
    const { item } = claimed(null, { turn: 1, input: stateOf() })
    expect(turnItem.parse(item)).toMatchObject({ rev: 1, fence: 1, epoch: 1, session: null, done: null, closed: false })
  })

  it('◆ a turn entered again gets the input of its first entry, so that it gets the same decision', () => {
    const again = claimed(runningItem({ leaseUntil: 0 }), { input: stateOf({ turn: 2, round: 9 }) })
    expect(again.input).toEqual(stateOf({ turn: 2, round: 2 }))
    expect(again.item.running?.input).toEqual(again.input)
  })

  it('◆ carries the epoch: it is stored, and the input and the recorded state speak for the execution that asks', () => {
    const again = claimed(runningItem({ leaseUntil: 0 }), { epoch: 3 })
    expect(again.item.epoch).toBe(3)
    expect(again.input.epoch).toBe(3)
    expect(claim(doneItem(), request({ turn: 2, epoch: 3 }))).toMatchObject({ kind: 'done', state: { epoch: 3 } })
    expect(claim(again.item, request({ epoch: 2 }))).toMatchObject({ kind: 'stale', error: 'StaleExecution' })
  })

  it('runs from the last finished session and checkpoint, whatever the attempt before did', () => {
    const again = claimed(runningItem({ leaseUntil: 0 }))
    expect(again.item).toMatchObject({ session, checkpoint, done: { turn: 2 } })
  })

  it('◆ an expired item voids session and checkpoint, never its fence or its turn', () => {
    const expired = doneItem({ ttl: seconds(T0) })
    expect(claimed(expired).item).toMatchObject({ fence: 5, session: null, checkpoint: null, fingerprints: ['aaa'], done: { turn: 2 } })
    expect(claim(expired, request({ turn: 2 }))).toMatchObject({ kind: 'done' })
    expect(claim(expired, request({ turn: 1 }))).toMatchObject({ kind: 'stale' })
  })

  it('keeps what earlier attempts of the same turn used, and nothing of another turn', () => {
    expect(claimed(runningItem({ leaseUntil: 0, used: usageOf() })).item.running?.used).toEqual(usageOf())
    expect(claimed(runningItem({ leaseUntil: 0, used: usageOf() }), { turn: 4 }).item.running).not.toHaveProperty('used')
  })
})

describe('a turn is finished', () => {
  const discarded: [string, TurnItem | null, Partial<FinishRequest>][] = [
    ['nothing', null, {}],
    ['a tombstone', runningItem({}, { closed: true }), {}],
    ['a higher epoch, and so another fence', runningItem({}, { epoch: 2, fence: 6 }), {}],
    ['the turn under a later fence', runningItem({}, { fence: 6 }), {}],
    ['that the turn failed for good', doneItem({ fence: 5, failed }), {}],
    ['a turn after, running', runningItem(), { turn: 2, fence: 4 }],
    ['a turn after, done', doneItem(), { turn: 1, fence: 4 }],
    ['only turns before', doneItem(), {}],
  ]
  it.each(discarded)('the item says %s: discarded', (_name, item, change) => {
    expect(finish(item, finishing(change))).toEqual({ kind: 'discard' })
  })

  it('the item says that it is done: the recorded result, not this one', () => {
    const late = finish(doneItem(), finishing({ turn: 2, fence: 3, record: turnRecordOf({ turn: 2, summary: 'late' }) }))
    expect(late).toEqual({ kind: 'recorded', state: stateOf({ turn: 2 }), record: turnRecordOf({ turn: 2, fence: 4 }) })
  })

  const written = (item: TurnItem, change: Partial<FinishRequest> = {}): TurnItem => {
    const answer = finish(item, finishing(change))
    if (answer.kind !== 'write') throw new Error(`not written: ${answer.kind}`)
    return turnItem.parse(answer.item)
  }

  it('session, checkpoint, state and record move together, under the fence', () => {
    expect(written(runningItem())).toEqual({
      ...runningItem(),
      rev: 9,
      nonce: 'now',
      session: { ...session, id: 'session-2' },
      checkpoint: null,
      done: { turn: 3, state: stateOf({ turn: 3, round: 3 }), record: turnRecordOf({ turn: 3, fence: 5 }) },
      running: null,
      fingerprints: ['aaa', 'bbb'],
      ttl: seconds(T0) + ITEM_TTL_SECONDS,
    })
  })

  it('also when its lease is over or was given back, as long as nobody claimed the turn since', () => {
    expect(written(runningItem({ leaseUntil: 0 }), { now: T0 + DAY }).done?.turn).toBe(3)
  })

  it('keeps the session, replaces it or drops it, as it is told', () => {
    expect(written(runningItem(), { session: 'keep' }).session).toEqual(session)
    expect(written(runningItem(), { session: null }).session).toBeNull()
    expect(written(runningItem(), { checkpoint: { ...checkpoint, turn: 3 } }).checkpoint?.turn).toBe(3)
  })

  it('lists a fingerprint once', () => {
    expect(written(runningItem(), { fingerprint: 'aaa' }).fingerprints).toEqual(['aaa'])
    expect(written(runningItem(), { fingerprint: null }).fingerprints).toEqual(['aaa'])
  })

  it('the state it leads to speaks for the execution that claimed it, and names its turn', () => {
    expect(written(runningItem({}, { epoch: 4 }), { state: stateOf({ turn: 0, epoch: 1 }) }).done?.state).toMatchObject({
      epoch: 4,
      turn: 3,
    })
  })
})

describe('a turn is given back', () => {
  const stamp = { now: T0, nonce: 'now' }
  it('under its fence: the lease is over at once, input and session stay', () => {
    const given = release(runningItem(), { turn: 3, fence: 5, used: usageOf(), ...stamp })
    expect(given).toMatchObject({ rev: 9, fence: 5, session, running: { turn: 3, leaseUntil: 0, input: { round: 2 }, used: usageOf() } })
  })
  it.each([
    ['another fence', runningItem(), 4],
    ['a tombstone', runningItem({}, { closed: true }), 5],
    ['a finished turn', doneItem({ fence: 5 }), 5],
    ['no item', null, 5],
  ])('not under %s', (_name, item, fence) => {
    expect(release(item, { turn: 3, fence, used: null, ...stamp })).toBeNull()
    expect(failForGood(item, { turn: 3, fence, error: 'AgentFailed', message: '', used: null, ...stamp })).toBeNull()
  })
  it('fails for good under its fence, and keeps the last finished turn and its session', () => {
    const item = failForGood(runningItem(), { turn: 3, fence: 5, error: 'AgentRefused', message: 'no', used: null, ...stamp })
    expect(item).toMatchObject({ running: null, failed, done: { turn: 2 }, session })
    expect(claim(item, request())).toMatchObject({ kind: 'failed', error: 'AgentRefused' })
  })
  it('what came to nothing is counted: of a turn that fails for good, and of one that the end of the run leaves unfinished', () => {
    const running = runningItem({ used: usageOf(7, 1) })
    const told = { turn: 3, fence: 5, error: 'AgentRefused' as const, message: 'no', ...stamp }
    // what the error says is of all attempts; where it says nothing, the earlier ones are known
    expect(failForGood(running, { ...told, used: usageOf(9, 2) })?.unfinished).toEqual(usageOf(9, 2))
    expect(failForGood(running, { ...told, used: null })?.unfinished).toEqual(usageOf(7, 1))
    const ended = { runId: RUN_ID, role: 'reviewer' as const, epoch: 2, ...stamp }
    expect(tombstone(running, ended)?.unfinished).toEqual(usageOf(7, 1))
    expect(tombstone(failForGood(running, { ...told, used: usageOf(9, 2) }), ended)?.unfinished).toEqual(usageOf(9, 2))
    expect(tombstone(runningItem(), ended)).not.toHaveProperty('unfinished')
  })
})

describe('a run ends', () => {
  const end = { runId: RUN_ID, role: 'reviewer' as const, epoch: 2, now: T0, nonce: 'now' }
  it('◆ a tombstone raises the fence, drops the ids, keeps the fingerprints and the last result', () => {
    const grave = tombstone(runningItem(), end)
    expect(grave).toMatchObject({
      closed: true,
      fence: 6,
      session: null,
      checkpoint: null,
      running: null,
      fingerprints: ['aaa'],
      done: { turn: 2 },
    })
    expect(JSON.stringify(grave)).not.toContain('session-1')
    expect(finish(grave, finishing())).toEqual({ kind: 'discard' })
    expect(claim(grave, request({ epoch: 99 }))).toMatchObject({ kind: 'stale' })
  })
  it('◆ is made where the role never had a turn, so that a late first turn finds it', () => {
    const grave = tombstone(null, end)
    expect(turnItem.parse(grave)).toMatchObject({ rev: 1, closed: true, fence: 1 })
    expect(claim(grave, request({ turn: 1 }))).toMatchObject({ kind: 'stale', error: 'StaleExecution' })
  })
  it('is not made twice', () => {
    expect(tombstone(tombstone(runningItem(), end), end)).toBeNull()
  })
})

describe('a run is parked', () => {
  const until = T0 + 24 * DAY
  const park = { until, now: T0, nonce: 'now' }
  it('item and session live past its bound', () => {
    const kept = extendTtl(doneItem(), park)
    expect(kept).toMatchObject({ rev: 8, session: { ...session, expiresAt: new Date(until).toISOString() } })
    expect(kept?.ttl).toBeGreaterThanOrEqual(seconds(until))
    expect(extendTtl(kept, park)).toBeNull()
  })
  it('nothing is shortened', () => {
    const later = doneItem({ ttl: seconds(T0 + 50 * DAY), session: { ...session, expiresAt: new Date(T0 + 40 * DAY).toISOString() } })
    expect(extendTtl(later, park)).toBeNull()
  })
  it('what has expired does not come back', () => {
    expect(extendTtl(doneItem({ ttl: seconds(T0) }), park)?.session).toBeNull()
    const old = { ...session, expiresAt: new Date(T0).toISOString() }
    expect(extendTtl(doneItem({ session: old }), park)?.session).toEqual(old)
  })
  it('a tombstone, or no item, is left alone', () => {
    expect(extendTtl(doneItem({ closed: true }), park)).toBeNull()
    expect(extendTtl(null, park)).toBeNull()
  })
})
