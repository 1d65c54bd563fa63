/** One schedule from its seed: chaos for a while, then only fair things, until every run has ended. */
import { Player } from './player.ts'
import { profileFrom } from './profile.ts'
import { randomFrom } from './random.ts'
import { finalCheck } from './final.ts'
import type { Seen } from './monitor.ts'
import type { System } from './system.ts'
import { MemoryTables, type TableClient } from './tables.ts'
import { World } from './world.ts'

export interface Options {
  system: System
  seed: number
  tables?: TableClient
  /** A bucket that lets objects be overwritten. */
  overwrites?: boolean
}

export interface Played {
  seed: number
  /** What was found not to hold; null where everything held. */
  violation: string | null
  trace: string[]
  steps: number
  seen: Partial<Record<Seen, number>>
  outcomes: string[]
}

export const play = async (options: Options): Promise<Played> => {
  const profile = profileFrom(randomFrom(options.seed))
  const world = new World({ tables: new MemoryTables(), ...options, profile })
  const player = new Player(world)
  await player.chaos()
  await player.fairly()
  await player.after()
  if (world.monitor.violation === null) finalCheck(world)
  const { scheduler, monitor } = world
  return {
    seed: options.seed,
    violation: monitor.violation,
    trace: scheduler.trace,
    steps: scheduler.step,
    seen: monitor.seen,
    outcomes: world.outside.runIds().map((runId) => {
      const verdict = monitor.runs.itemOf(runId)?.verdict
      return verdict ? `${verdict.outcome}: ${verdict.reason}${verdict.error ? ` ${verdict.error}` : ''}` : 'none'
    }),
  }
}
