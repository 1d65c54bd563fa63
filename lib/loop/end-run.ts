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

/**
 * Ends a run from outside its execution: raises the epoch, so that the execution under way is stale, and starts one that
 * enters at Close. Used for lost executions, supersede and abort.
 */
export const endUnder = async (
  ports: Pick<Ports, 'runs' | 'sessions' | 'executions' | 'effects'>,
  runId: string,
  end: { only?: number; verdict: Verdict; failure?: Failure },
): Promise<{ closed: boolean }> => {
  const before = await readRun(ports.runs, runId)
  if (before.status === 'ended' || (end.only !== undefined && end.only !== before.epoch)) return { closed: false }
  let mine = false
  const run = await changeRun(ports, runId, (current) => {
    mine = current.status !== 'ended' && current.epoch === before.epoch
    return mine
      ? { epoch: current.epoch + 1, status: 'running', token: null, verdict: end.verdict, failure: end.failure ?? current.failure }
      : null
  })
  if (!mine) return { closed: false }
  const state = await standing(ports, run)
  await ports.executions.start(executionName(runId, run.epoch), { ...state, epoch: run.epoch, next: 'Close', verdict: end.verdict })
  await ports.executions.stop(executionName(runId, before.epoch))
  return { closed: true }
}

/** Ends a run because a person said so. Errors: RunNotFound, RunEnded, StoreConflict. */
export const abortRun = async (
  ports: Pick<Ports, 'runs' | 'sessions' | 'executions' | 'effects'>,
  runId: string,
  by: string,
): Promise<RunItem> => {
  const { closed } = await endUnder(ports, runId, { verdict: { outcome: 'aborted', reason: 'aborted', by, error: null } })
  if (!closed) throw new LoopError('RunEnded', `Run ${runId} has ended.`, { runId })
  return readRun(ports.runs, runId)
}
