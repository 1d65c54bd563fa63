/**
 * The protocol of a turn, as pure transitions of the one item it is claimed, fenced and finished on: old item in, new item out.
 * The store only compares and sets. Each row of the table in docs/architecture.md is a row of the tests.
 */
import type { TurnRole } from '../names.ts'
import type { ErrorName } from './errors.ts'
import type { Checkpoint, SessionRecord, TurnItem } from './items.ts'
import type { TurnRecord, Usage } from './record.ts'
import type { RunState } from './run.ts'
import { addUsage } from './usage.ts'

/** Seconds that an item outlives its last write; Park puts it further out. */
export const ITEM_TTL_SECONDS = 30 * 24 * 60 * 60

export interface ClaimRequest {
  runId: string
  role: TurnRole
  turn: number
  epoch: number
  input: RunState
  /** ms since 1970 */
  leaseUntil: number
  now: number
  owner: string | null
  nonce: string
}

export type ClaimAnswer =
  /** Write `item`, then run from `input`: the recorded one where the turn was entered before. */
  | { kind: 'run'; item: TurnItem; input: RunState; fence: number }
  | { kind: 'busy'; until: number }
  | { kind: 'done'; state: RunState; record: TurnRecord }
  | { kind: 'failed'; error: string; message: string }
  | { kind: 'stale'; error: 'StaleTurn' | 'StaleExecution'; why: string }

/** What the worker of a turn is known by. */
export interface Holder {
  turn: number
  fence: number
}

export interface FinishRequest extends Holder {
  state: RunState
  record: TurnRecord
  /** The session that the next turn resumes; `keep` leaves what was there. */
  session: SessionRecord | null | 'keep'
  checkpoint: Checkpoint | null
  fingerprint: string | null
  now: number
  nonce: string
}

export type FinishAnswer =
  | { kind: 'write'; item: TurnItem }
  | { kind: 'discard' }
  | { kind: 'recorded'; state: RunState; record: TurnRecord }

interface Stamp {
  now: number
  nonce: string
}

const emptyItem = (runId: string, role: TurnRole): TurnItem => ({
  runId,
  role,
  rev: 0,
  nonce: '',
  epoch: 0,
  fence: 0,
  closed: false,
  session: null,
  checkpoint: null,
  done: null,
  running: null,
  failed: null,
  fingerprints: [],
  ttl: 0,
})

/** The item as it is written next: a new version under a new nonce, with its TTL moved on and never back. */
const revised = (item: TurnItem, { now, nonce }: Stamp, change: Partial<TurnItem>): TurnItem => ({
  ...item,
  ...change,
  rev: item.rev + 1,
  nonce,
  ttl: Math.max(item.ttl, Math.floor(now / 1000) + ITEM_TTL_SECONDS),
})

/** Past its TTL, though DynamoDB may be days late in deleting it. */
const isVoid = (item: TurnItem, now: number): boolean => item.ttl * 1000 <= now

const holds = (item: TurnItem, { turn, fence }: Holder): boolean => !item.closed && item.running?.turn === turn && item.fence === fence

export function claim(item: TurnItem | null, request: ClaimRequest): ClaimAnswer {
  const { turn, epoch, now, owner } = request
  const old = item ?? emptyItem(request.runId, request.role)
  if (old.closed) return { kind: 'stale', error: 'StaleExecution', why: 'the run has ended' }
  if (old.epoch > epoch) return { kind: 'stale', error: 'StaleExecution', why: `epoch ${old.epoch} speaks for the run, not ${epoch}` }
  const { running, done, failed } = old
  if (running?.turn === turn) {
    if (running.leaseUntil > now && running.owner === owner) return { kind: 'busy', until: running.leaseUntil }
  } else {
    const latest = Math.max(running?.turn ?? 0, done?.turn ?? 0, failed?.turn ?? 0)
    if (latest > turn) return { kind: 'stale', error: 'StaleTurn', why: `turn ${latest} is after turn ${turn}` }
    if (done?.turn === turn) return { kind: 'done', state: { ...done.state, epoch }, record: done.record }
    if (failed?.turn === turn) return { kind: 'failed', error: failed.error, message: failed.message }
  }
  // Entered again, a turn gets the input of its first entry; only the execution that speaks for it is another.
  const input = { ...(running?.turn === turn ? running.input : request.input), epoch }
  const used = running?.turn === turn ? running.used : undefined
  const fence = old.fence + 1
  const next = revised(old, request, {
    epoch,
    fence,
    // An item past its TTL is void but for its fence and its turn, and the new TTL must not bring its session back.
    ...(isVoid(old, now) && { session: null, checkpoint: null }),
    running: { turn, input, leaseUntil: request.leaseUntil, owner, ...(used && { used }) },
  })
  return { kind: 'run', item: next, input, fence }
}

/** Session, checkpoint and the state that follows move together, in this one write. */
export function finish(item: TurnItem | null, request: FinishRequest): FinishAnswer {
  if (!item || item.closed) return { kind: 'discard' }
  const { turn, fence, record, checkpoint, fingerprint } = request
  if (!holds(item, { turn, fence })) {
    const recorded = item.running === null && item.done?.turn === turn
    return recorded && item.done ? { kind: 'recorded', state: item.done.state, record: item.done.record } : { kind: 'discard' }
  }
  const next = revised(item, request, {
    session: request.session === 'keep' ? item.session : request.session,
    checkpoint,
    done: { turn, state: { ...request.state, turn, epoch: item.epoch }, record },
    running: null,
    failed: null,
    fingerprints: fingerprint === null || item.fingerprints.includes(fingerprint) ? item.fingerprints : [...item.fingerprints, fingerprint],
  })
  return { kind: 'write', item: next }
}

/** Gives the lease back, so that the turn may be claimed at once; `used` is what all attempts so far used. null: not ours to give back. */
export function release(item: TurnItem | null, request: Holder & Stamp & { used: Usage | null }): TurnItem | null {
  if (!item?.running || !holds(item, request)) return null
  const used = request.used ?? item.running.used
  return revised(item, request, { running: { ...item.running, leaseUntil: 0, ...(used && { used }) } })
}

/** What came to nothing is counted all the same. */
const withUnfinished = ({ unfinished, running }: TurnItem, used: Usage | null): Pick<TurnItem, 'unfinished'> => {
  const lost = used ?? running?.used
  return lost ? { unfinished: addUsage(unfinished ?? null, lost) } : {}
}

/** The turn has failed and stays so; what finished before it is kept. `used`: by all its attempts. null: not ours to fail. */
export function failForGood(
  item: TurnItem | null,
  request: Holder & Stamp & { error: ErrorName; message: string; used: Usage | null },
): TurnItem | null {
  if (!item || !holds(item, request)) return null
  const failed = { turn: request.turn, error: request.error, message: request.message }
  return revised(item, request, { running: null, failed, ...withUnfinished(item, request.used) })
}

/** The run has ended: no claim, no late finish. Ids go, fingerprints stay. null: it is a tombstone already. */
export function tombstone(item: TurnItem | null, request: Stamp & { runId: string; role: TurnRole; epoch: number }): TurnItem | null {
  if (item?.closed) return null
  const old = item ?? emptyItem(request.runId, request.role)
  const epoch = Math.max(old.epoch, request.epoch)
  const gone = { epoch, fence: old.fence + 1, closed: true, session: null, checkpoint: null, running: null }
  return revised(old, request, { ...gone, ...withUnfinished(old, null) })
}

/** Park's: the item and its session live past `until` (ms since 1970). What is void already stays so. null: nothing to do. */
export function extendTtl(item: TurnItem | null, request: Stamp & { until: number }): TurnItem | null {
  if (!item || item.closed) return null
  const ttl = Math.ceil(request.until / 1000)
  const { session, checkpoint } = isVoid(item, request.now) ? { session: null, checkpoint: null } : item
  const isLive = session !== null && Date.parse(session.expiresAt) > request.now
  const extended = isLive && Date.parse(session.expiresAt) < request.until
  if (item.ttl >= ttl && !extended) return null
  const kept = extended ? { ...session, expiresAt: new Date(request.until).toISOString() } : session
  const next = revised(item, request, { session: kept, checkpoint })
  return { ...next, ttl: Math.max(next.ttl, ttl) }
}
