/** Plays the world of a seed, and says how to play it again. */
import { check } from './checks.ts'
import type { Monitor } from './monitor.ts'
import { operate } from './operator.ts'
import { World, type WorldOptions } from './world.ts'

export interface Played {
  seed: number
  violations: string[]
  trace: string[]
  counts: Monitor['counts']
  /** How each run rests. */
  ends: string[]
}

export const play = async (seed: number, options: WorldOptions = {}): Promise<Played> => {
  const world = await World.open(seed, options)
  try {
    await operate(world)
    const runs = await check(world)
    const { violations, trace, counts } = world.monitor
    return {
      seed,
      violations,
      trace,
      counts,
      ends: runs.map(({ status, verdict }) => (status === 'ended' ? `${verdict?.outcome}: ${verdict?.error ?? verdict?.reason}` : status)),
    }
  } finally {
    await world.close()
  }
}
