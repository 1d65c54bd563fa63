/** Ending a run from outside its execution: lost executions, supersede, abort. */
import { executionName } from '../names.ts'
import { changeRun, readRun } from './current-run.ts'
import { LoopError } from './errors.ts'
import type { RunItem } from './items.ts'
import type { Ports } from './ports.ts'
import { standing } from './resume.ts'
import type { Verdict } from './run.ts'

export interface Failure {
  error: string
  message: string
}

type EndPorts = Pick<Ports, 'runs' | 'sessions' | 'executions' | 'effects'>

/** Others may resume the run as often before this gives up. */
const TRIES = 8
/** Milliseconds after its end in which a Close that is lost is taken up by itself; later a resume does. */
const TAKE_UP_MS = 3_600_000

/**
 * Ends a run from outside its execution: raises the epoch, so that the execution under way is stale, and starts one that
 * enters at Close. Used for lost executions (`only` their own epoch), supersede and abort. The first verdict stands: a run that
 * was published, or is being ended already, is only closed.
 * Errors: RunNotFound, StoreConflict, StoreUnavailable.
 */
export const endUnder = async (
  ports: EndPorts,
  runId: string,
  end: { only?: number; verdict: Verdict; failure?: Failure },
): Promise<{ closed: boolean }> => {
  for (let tries = 0; tries < TRIES; tries++) {
    const before = await readRun(ports.runs, runId)
    // Whoever ended it meanwhile starts its Close.
    if (tries > 0 && before.verdict) return { closed: false }
    if (before.closed || (end.only !== undefined && (end.only !== before.epoch || isGivenUp(ports, before)))) return { closed: false }
    const run = await raise(ports, before, end)
    if (run) {
      const state = await standing(ports, run)
      await ports.executions.start(executionName(runId, run.epoch), { ...state, epoch: run.epoch, next: 'Close', verdict: run.verdict })
      await ports.executions.stop(executionName(runId, before.epoch))
      return { closed: true }
    }
  }
  throw new LoopError('StoreConflict', `Others keep resuming run ${runId}.`, { runId })
}

/** A Close that fails for a reason that stays would otherwise be lost and taken up for ever. */
const isGivenUp = ({ effects }: EndPorts, { endedAt }: RunItem): boolean =>
  endedAt !== null && effects.now() - Date.parse(endedAt) > TAKE_UP_MS

/** null: somebody else raised the epoch since `before` was read. */
const raise = async (
  ports: EndPorts,
  before: RunItem,
  { verdict, failure }: { verdict: Verdict; failure?: Failure },
): Promise<RunItem | null> => {
  let mine = false
  const run = await changeRun(ports, before.runId, (current) => {
    mine = !current.closed && current.epoch === before.epoch
    if (!mine) return null
    const raised = { epoch: current.epoch + 1 }
    if (current.status === 'ended') return raised
    const ending = current.verdict ? {} : { verdict, failure: failure ?? current.failure }
    return { ...raised, status: 'running', token: null, ...ending }
  })
  return mine ? run : null
}

/** Ends a run because a person said so. Errors: RunNotFound; RunEnded, also where only its Close is left to do; StoreConflict. */
export const abortRun = async (ports: EndPorts, runId: string, by: string): Promise<RunItem> => {
  const { status } = await readRun(ports.runs, runId)
  if (status !== 'ended') await endUnder(ports, runId, { verdict: { outcome: 'aborted', reason: 'aborted', by, error: null } })
  const run = await readRun(ports.runs, runId)
  if (status === 'ended' || run.verdict?.outcome !== 'aborted') throw new LoopError('RunEnded', `Run ${runId} has ended.`, { runId })
  return run
}
