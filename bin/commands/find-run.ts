import { LoopError } from '../../lib/loop/errors.ts'
import type { RunItem } from '../../lib/loop/items.ts'
import type { RunStore } from '../../lib/loop/ports.ts'

/**
 * The run that a person means: an id, the beginning of one that is the beginning of no other, or (nothing given) the newest run that
 * the first of `wanted` takes, else the next of them. Errors: RunNotFound, BadRequest where the beginning fits several.
 */
export const findRun = async (
  runs: RunStore,
  named: string | undefined,
  wanted: readonly ((run: RunItem) => boolean)[],
  what: string,
): Promise<RunItem> => {
  const all = await runs.list()
  if (named === undefined) {
    const newest = wanted.map((takes) => all.find(takes)).find((run) => run !== undefined)
    if (!newest) throw new LoopError('RunNotFound', `There is no ${what}.`)
    return newest
  }
  const fits = all.filter((run) => run.runId === named || run.runId.startsWith(named) || run.runId.startsWith(`r-${named}`))
  const [only, another] = fits
  if (!only || !named) throw new LoopError('RunNotFound', `There is no run ${named}.`, { runId: named })
  if (another)
    throw new LoopError('BadRequest', `${named} is the beginning of ${fits.length} runs: ${fits.map((run) => run.runId).join(', ')}.`)
  return only
}
