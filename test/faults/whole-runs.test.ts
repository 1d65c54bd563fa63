/**
 * Whole runs through the embedded engine, with the real handlers and stores, where any effect may fail, lose its answer, be slow, or be
 * the last of its worker or process. A seed says what; what is held is in test/support/faults/monitor.ts and checks.ts.
 */
import { afterAll, describe, expect, test } from 'vitest'
import type { Played } from '../support/faults/play.ts'
import { chunksOf, isLong, playOrFail, playWanted, wantedBy, type Wanted } from '../support/faults/replay.ts'

const MINUTES = 60_000
const one = wantedBy(process.env)
const played: Played[] = []

const playAgain = (wanted: Wanted): void => {
  test('one seed, played again', async () => expect(await playOrFail(wanted)).toMatchObject({ violations: [] }), 5 * MINUTES)
}

const playAll = (): void => {
  const memory = chunksOf(isLong ? 1000 : 40, 20)
  const git = chunksOf(isLong ? 100 : 3, 5)

  test.each(memory)(
    'on files in memory, seeds %i and on',
    async (...seeds) => {
      for (const seed of seeds) played.push(await playOrFail({ seed }))
      expect(played.flatMap(({ violations }) => violations)).toEqual([])
    },
    10 * MINUTES,
  )

  test.each(git)(
    'on real git, seeds %i and on',
    async (...seeds) => {
      for (const seed of seeds) played.push(await playOrFail({ seed, git: true }))
      expect(played.flatMap(({ violations }) => violations)).toEqual([])
    },
    10 * MINUTES,
  )

  test('come to every kind of end, and something of every kind went wrong', () => {
    const ends = new Set(played.flatMap((world) => world.ends.map((end) => end.split(':')[0])))
    expect(ends).toEqual(new Set(['aborted', 'approved', 'changes-requested', 'failed', 'parked', 'superseded']))
    const reasons = new Set(played.flatMap((world) => world.ends))
    expect(reasons).toContain('approved: certified')
    expect(reasons).toContain('approved: by-person')
    const faults = played.flatMap(({ trace }) => trace.flatMap((line) => / ← ([a-z-]+)$/.exec(line)?.[1] ?? []))
    expect(new Set(faults)).toEqual(new Set(['kill', 'kill-after', 'lost', 'slow', 'stall', 'stall-after', 'transient', 'untyped']))
    expect(sum('wire')).toBeGreaterThan(0)
    expect(sum('late')).toBeGreaterThan(0)
  })

  test.each([1, 3, 4, 6])(
    'seed %i goes the same way each time',
    async (seed) => {
      const [first, second] = [await playWanted({ seed }), await playWanted({ seed })]
      expect(second.trace).toEqual(first.trace)
    },
    MINUTES,
  )
}

describe('whole runs under fault', () => {
  if (one) playAgain(one)
  else playAll()
})

const sum = (what: keyof Played['counts']): number => played.reduce((total, { counts }) => total + counts[what], 0)

afterAll(() => {
  if (!isLong) return
  const counts = Object.keys(played[0]?.counts ?? {}).map((what) => `${what} ${sum(what as keyof Played['counts'])}`)
  const ends = Map.groupBy(
    played.flatMap((world) => world.ends),
    (end) => end,
  )
  console.log(`${played.length} worlds, ${played.flatMap((world) => world.ends).length} runs: ${counts.join(', ')}`)
  console.log([...ends].map(([end, all]) => `${all.length} ${end}`).join(', '))
})
