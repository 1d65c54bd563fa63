/** A turn happens once: claimed, run and finished over the store. On the good path one read and two writes. */
import type { TurnRole } from '../names.ts'
import { asLoopError, isErrorName, LoopError } from './errors.ts'
import type { Checkpoint, SessionRecord, TurnItem } from './items.ts'
import type { Invocation, Ports } from './ports.ts'
import { type TurnRecord, type Usage, usage as usageSchema } from './record.ts'
import { redact } from './redact.ts'
import type { RunState } from './run.ts'
import { countTurn } from './spend.ts'
import { claim, failForGood, finish, release, type FinishRequest } from './turn-item.ts'

/** How far clocks of two machines may differ: a lease outlives its worker's deadline by as much. */
export const LEASE_SKEW_MS = 60_000
const TRIES = 8

type TurnPorts = Pick<Ports, 'sessions' | 'effects'>

/** A turn that is ours to run. */
export interface Claimed {
  role: TurnRole
  turn: number
  fence: number
  /** What to run from: the input of the first entry, where the turn was entered before. */
  input: RunState
  /** The item as it was claimed: the last finished session and checkpoint are in it. */
  item: TurnItem
}

export interface Finished {
  state: RunState
  record: TurnRecord
}

/** What the work of a turn leads to. `session: 'keep'` leaves the stored session as it was. */
export interface Worked extends Finished {
  session: SessionRecord | null | 'keep'
  checkpoint: Checkpoint | null
  /** Whether a stored session was to be gone on in (`isToBeResumed`). */
  toBeResumed: boolean
}

const keyOf = ({ runId, role }: { runId: string; role: TurnRole }) => ({ runId, role })

const conflict = ({ runId, role }: { runId: string; role: TurnRole }): LoopError =>
  new LoopError('StoreConflict', `Others keep writing the ${role}'s item of run ${runId}.`, { runId, role })

/**
 * Claims the turn after `state.turn` for `role`, or gives what it led to when it is finished.
 * Errors: TurnBusy, StaleTurn, StaleExecution, StoreConflict, StoreUnavailable; the recorded error of a turn that failed for good.
 */
const claimTurn = async (
  ports: TurnPorts,
  { role, state, deadline }: { role: TurnRole; state: RunState; deadline: number },
): Promise<({ kind: 'run' } & Claimed) | ({ kind: 'done' } & Finished)> => {
  const { runId, epoch } = state
  const turn = state.turn + 1
  for (let tries = 0; tries < TRIES; tries++) {
    const { owner } = ports.effects
    const now = ports.effects.now()
    const stored = await ports.sessions.read({ runId, role })
    const leaseUntil = deadline + LEASE_SKEW_MS
    const answer = claim(stored, { runId, role, turn, epoch, input: state, leaseUntil, now, owner, nonce: ports.effects.nonce() })
    const at = { runId, role, turn }
    switch (answer.kind) {
      case 'busy':
        throw new LoopError('TurnBusy', `Another worker holds turn ${turn} of the ${role}.`, { ...at, until: answer.until })
      case 'stale':
        throw new LoopError(answer.error, `Turn ${turn} of the ${role}: ${answer.why}.`, at)
      case 'failed':
        throw new LoopError(isErrorName(answer.error) ? answer.error : 'TurnFailed', answer.message, { ...at, recorded: true })
      case 'done':
        return answer
      case 'run':
        if (await ports.sessions.write({ runId, role }, answer.item))
          return { kind: 'run', role, turn, fence: answer.fence, input: answer.input, item: answer.item }
    }
  }
  throw conflict({ runId, role })
}

/**
 * Changes the item under the turn's fence, beginning from the item as it was held: it is read again only when the write loses.
 * `change` gives the item to write, or an answer that needs no write.
 */
const change = async <T>(
  ports: TurnPorts,
  held: TurnItem,
  changed: (item: TurnItem | null) => { write: TurnItem; answer: T } | { answer: T },
): Promise<T> => {
  let item: TurnItem | null = held
  for (let tries = 0; tries < TRIES; tries++) {
    const next = changed(item)
    if (!('write' in next) || (await ports.sessions.write(keyOf(held), next.write))) return next.answer
    item = await ports.sessions.read(keyOf(held))
  }
  throw conflict(held)
}

/** Errors: StaleTurn where the fence is no longer this worker's; StoreConflict, StoreUnavailable. */
const finishTurn = async (ports: TurnPorts, { item: held, turn, fence, role }: Claimed, worked: Worked): Promise<Finished> => {
  const stamp = { now: ports.effects.now(), nonce: ports.effects.nonce() }
  const request: FinishRequest = { turn, fence, ...worked, fingerprint: worked.record.fingerprint, ...stamp }
  const { mine, ...finished } = await change(ports, held, (item) => {
    const answer = finish(item, request)
    if (answer.kind === 'recorded') return { answer: { mine: false, state: answer.state, record: answer.record } }
    if (answer.kind === 'write')
      return { write: answer.item, answer: { mine: true, state: answer.item.done?.state ?? worked.state, record: worked.record } }
    throw new LoopError('StaleTurn', `Turn ${turn} of the ${role} is another worker's by now.`, { runId: held.runId, role, turn, fence })
  })
  const { mode } = worked.record
  const anew = worked.toBeResumed && (mode === 'started' || mode === 'cold')
  if (mine) ports.effects.happened({ kind: 'turn', runId: held.runId, record: worked.record, anew })
  return finished
}

const writeOrNot = (item: TurnItem | null): { write: TurnItem; answer: boolean } | { answer: boolean } =>
  item ? { write: item, answer: true } : { answer: false }

/** Gives the lease back under its fence, with what the attempt used. false: it was no longer ours. */
const releaseTurn = (ports: TurnPorts, { item, turn, fence }: Claimed, used: Usage | null): Promise<boolean> => {
  const request = { turn, fence, used, now: ports.effects.now(), nonce: ports.effects.nonce() }
  return change(ports, item, (current) => writeOrNot(release(current, request)))
}

/** What an error says its attempt used. */
const usedBy = (error: LoopError): Usage | null => usageSchema.safeParse(error.details['usage']).data ?? null

/** An item has to stay small, whatever an agent complains of. */
const MOST_MESSAGE = 2000

/** Records that the turn failed and stays failed. false: it was no longer ours. */
const failTurn = (ports: TurnPorts, { item, turn, fence }: Claimed, error: LoopError): Promise<boolean> => {
  const message = redact(error.message).slice(0, MOST_MESSAGE)
  const request = { turn, fence, error: error.name, message, used: usedBy(error), now: ports.effects.now(), nonce: ports.effects.nonce() }
  return change(ports, item, (current) => writeOrNot(failForGood(current, request)))
}

/** An interrupted turn is given back whatever it was interrupted with: going on later is what people then do. */
const isRetried = (error: LoopError, signal: AbortSignal): boolean =>
  signal.aborted || error.entry.class === 'transient' || error.name === 'Interrupted'

/** Best effort: a store that cannot be reached must not hide why the turn ended, and the lease ends by itself. */
const giveUp = async (ports: TurnPorts, claimed: Claimed, error: LoopError, signal: AbortSignal): Promise<void> => {
  if (error.entry.class === 'stale') return
  try {
    await (isRetried(error, signal) ? releaseTurn(ports, claimed, usedBy(error)) : failTurn(ports, claimed, error))
  } catch (cause) {
    const { item, role, turn } = claimed
    ports.effects.log('warn', 'the turn was not given back', { runId: item.runId, role, turn, error: asLoopError(cause).message })
  }
}

/**
 * The turn after `state.turn`, once: claims it, runs `work`, finishes it and adds it to the run's history. Called again it gives
 * the recorded state and calls nobody. What `work` throws is thrown on; transient errors and interruptions give the lease
 * back, others fail the turn for good. Gives the state that follows, under the epoch of `state`.
 * Errors: those of `claimTurn`, `finishTurn` and `work`.
 */
export const takeTurn = async (
  ports: TurnPorts & Pick<Ports, 'runs'>,
  options: { role: TurnRole; state: RunState; invocation: Invocation; work: (claimed: Claimed) => Promise<Worked> },
): Promise<RunState> => {
  const { role, state, invocation, work } = options
  const claimed = await claimTurn(ports, { role, state, deadline: invocation.deadline })
  const finished = claimed.kind === 'done' ? claimed : await runTurn(ports, claimed, invocation.signal, work)
  // After the write that finishes the turn, so that a crash in between leaves it to the retry, which finds the turn done.
  await ports.runs.addTurn(state.runId, finished.record)
  await countTurn(ports, state, finished.record)
  return finished.state
}

const runTurn = async (
  ports: TurnPorts,
  claimed: Claimed,
  signal: AbortSignal,
  work: (claimed: Claimed) => Promise<Worked>,
): Promise<Finished> => {
  try {
    return await finishTurn(ports, claimed, await work(claimed))
  } catch (thrown) {
    const error = asLoopError(thrown)
    await giveUp(ports, claimed, error, signal)
    throw error
  }
}
