/** Going on after anything: where a run stands is read from its items, and a new epoch enters there. */
import { executionName, TURN_ROLES } from '../names.ts'
import { changeRun, readRun } from './current-run.ts'
import type { RunItem, TurnItem } from './items.ts'
import { firstPolicy } from './loop-policy.ts'
import type { Ports } from './ports.ts'
import { branchKeyOf } from './run-id.ts'
import { countFinished } from './spend.ts'
import type { RunState, Verdict } from './run.ts'

/** The state a run begins with. Its policy is that of the request alone until Prepare has read the settings. */
export const initialState = (run: Pick<RunItem, 'runId' | 'request' | 'epoch'>): RunState => ({
  runId: run.runId,
  epoch: run.epoch,
  next: 'Prepare',
  policy: firstPolicy(run.request.overrides),
  turn: 0,
  round: 0,
  continuations: 0,
  source: null,
  record: null,
  changeset: null,
  decision: null,
  commit: run.request.head,
  certified: null,
  fixed: false,
  spent: { tokens: 0, dollars: 0, milliseconds: 0 },
  last: null,
  verdict: null,
})

/**
 * Where the run stands: a turn in progress is entered again with the input it was given; else the run goes on from the latest
 * finished turn's state; else from the beginning.
 */
export const standingOf = (run: RunItem, items: readonly (TurnItem | null)[]): RunState => {
  const done = items.flatMap((item) => (item?.done ? [item.done] : [])).sort((a, b) => b.turn - a.turn)[0]
  const running = items
    .flatMap((item) => (item?.running ? [item.running] : []))
    .filter((turn) => turn.turn > (done?.turn ?? 0))
    .sort((a, b) => b.turn - a.turn)[0]
  return { ...(running?.input ?? done?.state ?? initialState(run)), epoch: run.epoch }
}

export const readItems = (ports: Pick<Ports, 'sessions'>, runId: string): Promise<(TurnItem | null)[]> =>
  Promise.all(TURN_ROLES.map((role) => ports.sessions.read({ runId, role })))

export const standing = async (ports: Pick<Ports, 'sessions'>, run: RunItem): Promise<RunState> =>
  standingOf(run, await readItems(ports, run.runId))

const SUPERSEDED: Verdict = { outcome: 'superseded', reason: 'superseded', by: null, error: null }
const FORGOTTEN: Verdict = { outcome: 'failed', reason: 'failed', by: null, error: 'ArtifactLost' }

/** Asked after the epoch was raised: whoever takes the branch from then on ends this run first. */
const holdsBranch = async ({ runs }: Pick<Ports, 'runs'>, { runId, request }: RunItem): Promise<boolean> =>
  (await runs.branches.read(branchKeyOf(request.repository, request.branch ?? request.head)))?.active === runId

/**
 * Where nothing is left of a run but to be closed, how it ends: it has its verdict, or has lost its branch, or its latest turn is past
 * its TTL and gone. An answer must not count for the turn that would take its number, nor a second changeset be pushed.
 */
const endingOf = async (ports: Pick<Ports, 'runs'>, run: RunItem, isForgotten: boolean): Promise<Verdict | null> => {
  if (run.verdict) return run.verdict
  if (!(await holdsBranch(ports, run))) return SUPERSEDED
  return isForgotten ? FORGOTTEN : null
}

/**
 * Raises the epoch by compare-and-set and starts the execution of that epoch where the run stands. A run that has ended is
 * left as it is, unless its Close was cut off. Of two that resume at once one wins; the other starts nothing.
 * Errors: RunNotFound, StoreConflict.
 */
export const resumeRun = async (
  ports: Pick<Ports, 'runs' | 'sessions' | 'executions' | 'effects'>,
  runId: string,
): Promise<{ run: RunItem; started: boolean }> => {
  const before = await readRun(ports.runs, runId)
  if (before.closed) return { run: before, started: false }
  let mine = false
  const run = await changeRun(ports, runId, (current) => {
    mine = !current.closed && current.epoch === before.epoch
    return mine ? { epoch: current.epoch + 1 } : null
  })
  if (!mine) return { run, started: false }
  // Before the items are read: an execution that is still at it adds to the history what its item holds already.
  const latest = (await ports.runs.turns(runId)).at(-1)?.turn ?? 0
  const items = await readItems(ports, runId)
  // What goes on from a finished turn does not enter it again, and its worker may have been cut off before it told the history.
  for (const item of items) if (item?.done) await ports.runs.addTurn(runId, item.done.record)
  const state = standingOf(run, items)
  for (const item of items) await countFinished(ports, state, item)
  const verdict = await endingOf(ports, run, latest > state.turn)
  await ports.executions.start(executionName(runId, run.epoch), verdict ? { ...state, next: 'Close', verdict } : state)
  await ports.executions.stop(executionName(runId, before.epoch))
  return { run, started: true }
}
