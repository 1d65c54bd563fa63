/**
 * The protocol, by a model over the real code: use cases, handlers and stores under schedules from a seed, in which everything that
 * can go wrong between two effects does. What must hold is asked at every effect (test/support/protocol/) and at the end.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { OUTCOMES } from '../../lib/names.ts'
import { exploreAll } from '../support/protocol/children.ts'
import type { Explored } from '../support/protocol/explore.ts'
import { SEEN } from '../support/protocol/monitor.ts'
import { play } from '../support/protocol/schedule.ts'
import { loadSystem } from '../support/protocol/system.ts'

const SCHEDULES = process.env['REVIEWLOOP_LONG'] ? 200_000 : 10_000
const MINUTES = process.env['REVIEWLOOP_LONG'] ? 120 : 10
const root = fileURLToPath(new URL('../..', import.meta.url))

describe(`${SCHEDULES} schedules`, () => {
  let found: Explored
  beforeAll(async () => {
    found = await exploreAll(SCHEDULES)
    console.log(`${found.schedules} schedules, ${found.steps} effects:`, found.seen, found.outcomes)
  }, MINUTES * 60_000)

  test('hold what must hold', () => {
    expect(found.violations.map(({ seed, what }) => `${what}\n  npm run replay -- ${seed}`)).toEqual([])
    expect(found.schedules).toBe(SCHEDULES)
  })

  test.each(SEEN)('reach what they are about: %s', (what) => {
    expect(found.seen[what] ?? 0).toBeGreaterThan(SCHEDULES / 1000)
  })

  test.each(OUTCOMES)('end in every way that is documented: %s', (outcome) => {
    expect(Object.keys(found.outcomes).filter((key) => key.startsWith(`${outcome}: `))).not.toEqual([])
  })
})

test('a seed is a schedule: the same one takes the same steps', async () => {
  const system = await loadSystem()
  for (let seed = 1; seed <= 20; seed++) expect(await play({ system, seed })).toEqual(await play({ system, seed }))
})

describe('a failing seed', () => {
  const replay = (...args: string[]) =>
    promisify(execFile)('npm', ['run', '--silent', 'replay', '--', ...args], { cwd: root }).then(
      ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    )

  test('is replayed by one command, step by step', async () => {
    const system = await loadSystem()
    const { trace, outcomes } = await play({ system, seed: 4 })
    expect(await replay('4')).toMatchObject({ code: 0, stdout: `${[...trace, `seed 4 held: ${outcomes.join(', ')}`].join('\n')}\n` })
  })

  test('tells what did not hold', async () => {
    const { code, stdout } = await replay('1', '--mutant', 'tombstones before the end')
    expect({ code, last: stdout.trimEnd().split('\n').at(-1) }).toMatchObject({
      code: 1,
      last: expect.stringMatching(/^seed 1 does not hold: .* a tombstone was made before the run item ended/),
    })
  })

  test('has to be a number', async () => {
    expect(await replay('x')).toMatchObject({ code: 2, stderr: expect.stringContaining('npm run replay -- SEED') })
  })
})
