/** Schedules on every core: processes of their own, so many at a time. */
import { execFile } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Explored, Job } from './explore.ts'

const script = fileURLToPath(new URL('explore.ts', import.meta.url))

const run = async (job: Job): Promise<Explored> => {
  const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(job)], { maxBuffer: 10_000_000 })
  return JSON.parse(stdout) as Explored
}

/** Begins the jobs in order; gives a promise for each. */
export const explored = (jobs: readonly Job[]): Promise<Explored>[] => {
  const waiting = jobs.map((job) => ({ job, ...Promise.withResolvers<Explored>() }))
  const queue = [...waiting]
  const lane = async (): Promise<void> => {
    for (let next = queue.shift(); next; next = queue.shift()) await run(next.job).then(next.resolve, next.reject)
  }
  for (let lanes = 0; lanes < availableParallelism(); lanes++) void lane()
  return waiting.map(({ promise }) => promise)
}

/** The schedules from 1 to `count`, in equal parts. */
export const exploreAll = async (count: number, parts = availableParallelism()): Promise<Explored> => {
  const share = Math.ceil(count / parts)
  const jobs = Array.from({ length: parts }, (_, part) => ({
    from: 1 + part * share,
    count: Math.min(share, count - part * share),
    violations: 5,
  }))
  const all = await Promise.all(explored(jobs))
  const sum = (of: (found: Explored) => Record<string, number>): Record<string, number> => {
    const total: Record<string, number> = {}
    for (const found of all) for (const [what, times] of Object.entries(of(found))) total[what] = (total[what] ?? 0) + times
    return total
  }
  return {
    schedules: all.reduce((total, { schedules }) => total + schedules, 0),
    steps: all.reduce((total, { steps }) => total + steps, 0),
    seen: sum(({ seen }) => seen),
    outcomes: sum(({ outcomes }) => outcomes),
    violations: all.flatMap(({ violations }) => violations),
  }
}
