/** The run item, checked against the execution that asks, and changed under compare-and-set. */
import { LoopError } from './errors.ts'
import type { RunItem } from './items.ts'
import type { Effects, RunStore } from './ports.ts'
import type { RunState } from './run.ts'

/** Seconds that an ended run's item is kept: the history people look at. */
export const KEEP_SECONDS = 90 * 24 * 3600
const TRIES = 8

/** Errors: RunNotFound. */
export const readRun = async (runs: RunStore, runId: string): Promise<RunItem> => {
  const run = await runs.runs.read(runId)
  if (!run) throw new LoopError('RunNotFound', `There is no run ${runId}.`, { runId })
  return run
}

/**
 * The run item, if the execution of `state` still speaks for the run.
 * Errors: StaleExecution when a newer execution does, or the run has ended; RunNotFound.
 */
export const readCurrentRun = async (runs: RunStore, state: Pick<RunState, 'runId' | 'epoch'>): Promise<RunItem> => {
  const run = await readRun(runs, state.runId)
  assertCurrent(run, state)
  return run
}

export const assertCurrent = (run: RunItem, state: Pick<RunState, 'runId' | 'epoch'>): void => {
  if (run.status === 'ended') throw new LoopError('StaleExecution', `Run ${run.runId} has ended.`, { runId: run.runId })
  if (run.epoch !== state.epoch)
    throw new LoopError('StaleExecution', `Execution ${run.epoch} speaks for run ${run.runId}, not ${state.epoch}.`, { runId: run.runId })
}

export type RunChange = Partial<Omit<RunItem, 'runId' | 'rev' | 'nonce' | 'updatedAt' | 'createdAt' | 'ttl'>>

/**
 * Reads the run item, asks `change` what to alter (null: nothing), writes it under the version that was read, and begins
 * again where somebody else wrote in between. `change` may throw to refuse. Gives the item as it then stands.
 * Errors: RunNotFound, StoreConflict, and what `change` throws.
 */
export const changeRun = async (
  ports: { runs: RunStore; effects: Effects },
  runId: string,
  change: (run: RunItem) => RunChange | null,
): Promise<RunItem> => {
  for (let tries = 0; tries < TRIES; tries++) {
    const run = await readRun(ports.runs, runId)
    const changes = change(run)
    if (!changes) return run
    const next = stamp(ports.effects, { ...run, ...changes })
    if (await ports.runs.runs.write(runId, next)) return next
  }
  throw new LoopError('StoreConflict', `Others keep writing run ${runId}.`, { runId })
}

const stamp = (effects: Effects, run: RunItem): RunItem => ({
  ...run,
  rev: run.rev + 1,
  nonce: effects.nonce(),
  updatedAt: new Date(effects.now()).toISOString(),
  ttl: Math.floor(effects.now() / 1000) + KEEP_SECONDS,
})
