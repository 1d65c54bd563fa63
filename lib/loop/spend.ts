/** What turns used, counted for the budgets of a day: once each, whatever is tried again. */
import type { TurnItem } from './items.ts'
import type { Ports } from './ports.ts'
import type { TurnRecord, Usage } from './record.ts'
import type { RunState } from './run.ts'
import { tokensOf } from './usage.ts'

/** Scope of the bounds of all repositories together. */
export const DEPLOYMENT_SCOPE = 'deployment'

type Counted = Pick<RunState, 'runId' | 'budget'>

/** A turn counts for the day by UTC on which it ended, so that counting it again finds it counted. */
const count = async (
  { runs }: Pick<Ports, 'runs'>,
  { runId, budget }: Counted,
  { id, usage, at }: { id: string; usage: Usage; at: string },
): Promise<void> => {
  if (budget === undefined) return
  const entry = {
    day: at.slice(0, 10),
    id: `${runId}#${id}`,
    tokens: tokensOf(usage),
    microdollars: Math.round((usage.dollars ?? 0) * 1_000_000),
  }
  for (const scope of [budget, DEPLOYMENT_SCOPE]) await runs.budgets.add(scope, entry)
}

/** Where the deployment has no budgets to count for, nothing is. Errors: StoreUnavailable. */
export const countTurn = (ports: Pick<Ports, 'runs'>, state: Counted, { turn, usage, endedAt }: TurnRecord): Promise<void> =>
  count(ports, state, { id: String(turn), usage, at: endedAt })

/** The last finished turn of an item, whose worker may have been cut off before it counted it. */
export const countFinished = async (ports: Pick<Ports, 'runs'>, state: Counted, item: TurnItem | null): Promise<void> => {
  if (item?.done) await countTurn(ports, state, item.done.record)
}

/**
 * What the tombstones of a run know of: the last finished turns, and what attempts used that came to nothing, which counts for the day
 * on which the run ended. Errors: StoreUnavailable.
 */
export const countLeft = async (
  ports: Pick<Ports, 'runs'>,
  state: Counted,
  { graves, endedAt }: { graves: readonly (TurnItem | null)[]; endedAt: string },
): Promise<void> => {
  for (const grave of graves) {
    await countFinished(ports, state, grave)
    if (grave?.unfinished) await count(ports, state, { id: grave.role, usage: grave.unfinished, at: endedAt })
  }
}
