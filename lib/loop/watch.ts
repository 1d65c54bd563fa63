/** How things stand: what Watch looks at now and then, because nobody is called when nothing happens. */
import { MAX_PARK_DAYS } from '../names.ts'
import type { Ports } from './ports.ts'

/** Runs that began longer ago are not looked for: a run waits for a person for half of it at the most. */
const HORIZON_MS = 2 * MAX_PARK_DAYS * 86_400_000
const PAGE = 500

/** Counts the runs that have not ended, and says since when the longest of them is as it is. Errors: StoreUnavailable. */
export const watch = async (ports: Pick<Ports, 'runs' | 'effects'>): Promise<{ atWork: number; waiting: number }> => {
  const now = ports.effects.now()
  const seen = { atWork: 0, waiting: 0, longestAtWorkMs: 0, longestWaitingMs: 0, oldestMs: 0 }
  let after: string | undefined
  do {
    const { runs, next } = await ports.runs.page({ limit: PAGE, ...(after === undefined ? {} : { after }) })
    for (const { status, createdAt, updatedAt } of runs) {
      if (status === 'ended') continue
      // Started, parked, answered: its item is written when one becomes the other.
      const since = now - Date.parse(updatedAt)
      seen.oldestMs = Math.max(seen.oldestMs, now - Date.parse(createdAt))
      if (status === 'parked') {
        seen.waiting++
        seen.longestWaitingMs = Math.max(seen.longestWaitingMs, since)
      } else {
        seen.atWork++
        seen.longestAtWorkMs = Math.max(seen.longestAtWorkMs, since)
      }
    }
    const last = runs.at(-1)
    const isPast = last !== undefined && now - Date.parse(last.createdAt) > HORIZON_MS
    after = isPast ? undefined : (next ?? undefined)
  } while (after !== undefined)
  ports.effects.happened({ kind: 'watched', ...seen })
  return { atWork: seen.atWork, waiting: seen.waiting }
}
