/** Plays many schedules in a process of its own and prints what it saw, as one line of JSON. Its argument is a `Job`, as JSON. */
import { fileURLToPath } from 'node:url'
import { CHECKOUT, loadSystem } from './system.ts'
import { type Mutant, mutantCalled, withMutant } from './mutants.ts'
import type { Seen } from './monitor.ts'
import { play } from './schedule.ts'

export interface Job {
  from: number
  count: number
  /** Leaves a clause out. */
  mutant?: string
  /** Schedules that may break before it gives up. */
  violations: number
}

export interface Explored {
  schedules: number
  steps: number
  seen: Partial<Record<Seen, number>>
  outcomes: Record<string, number>
  violations: { seed: number; what: string }[]
}

const add = (counts: Record<string, number>, what: string, times = 1): void => {
  counts[what] = (counts[what] ?? 0) + times
}

export const explore = async (job: Job): Promise<Explored> => {
  const mutant: Mutant | null = job.mutant === undefined ? null : mutantCalled(job.mutant)
  return mutant ? withMutant(mutant, (root) => exploreUnder(root, job, mutant)) : exploreUnder(CHECKOUT, job, null)
}

const exploreUnder = async (root: string, { from, count, violations }: Job, mutant: Mutant | null): Promise<Explored> => {
  const system = await loadSystem(root)
  const found: Explored = { schedules: 0, steps: 0, seen: {}, outcomes: {}, violations: [] }
  for (let seed = from; seed < from + count && found.violations.length < violations; seed++) {
    const played = await play({ system, seed, overwrites: mutant?.overwrites ?? false })
    found.schedules++
    found.steps += played.steps
    for (const [what, times] of Object.entries(played.seen)) add(found.seen, what, times)
    for (const outcome of played.outcomes) add(found.outcomes, outcome)
    if (played.violation !== null) found.violations.push({ seed, what: played.violation })
  }
  return found
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(JSON.stringify(await explore(JSON.parse(process.argv[2] ?? '') as Job)))
