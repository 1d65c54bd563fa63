/** The suite of whole runs can fail: for each deliberate fault in the code it says, within a few seeds, what is broken. */
import { describe, expect, test } from 'vitest'
import { mutantOf, MUTANTS } from '../support/faults/mutants.ts'
import { play } from '../support/faults/play.ts'
import { playWanted } from '../support/faults/replay.ts'

const MINUTES = 60_000
const MOST_SEEDS = 20
const names = Object.keys(MUTANTS)

describe('a deliberate fault is found', () => {
  test.each(names)(
    '%s',
    async (mutant) => {
      const { says, plan = {} } = mutantOf(mutant)
      const seen: string[] = []
      for (let seed = 1; seed <= MOST_SEEDS; seed++) {
        const { violations } = await playWanted({ seed, mutant })
        if (violations.some((violation) => says.test(violation))) {
          // It is the fault that is found, and not the world that it was put into.
          expect((await play(seed, { plan })).violations).toEqual([])
          return
        }
        seen.push(...violations)
      }
      expect.fail(`no seed up to ${MOST_SEEDS} shows it; what was said: ${seen.join('\n') || 'nothing'}`)
    },
    5 * MINUTES,
  )
})
