/** One clause of the protocol left out at a time, in a copy of the code: the schedules that hold of the whole catch every one. */
import { afterAll, describe, expect, test } from 'vitest'
import { readFileSync } from 'node:fs'
import { explored } from '../support/protocol/children.ts'
import { MUTANTS, withMutant } from '../support/protocol/mutants.ts'

/** Schedules after which a mutant counts as not caught. */
const MOST = 20_000
const found = explored(MUTANTS.map(({ name }) => ({ from: 1, count: MOST, mutant: name, violations: 1 })))

describe('caught', () => {
  const report: string[] = []
  afterAll(() => console.log(report.join('\n')))

  test.each(MUTANTS.map(({ name, clause }, index) => ({ name, clause, index })))(
    'without it: $clause ($name)',
    async ({ name, index }) => {
      const result = await found[index]
      expect(result?.violations).toHaveLength(1)
      report.push(`${name}: after ${result?.schedules} schedules: ${result?.violations[0]?.what}`)
    },
    600_000,
  )
})

test('a patch that no longer fits the code is no mutant', async () => {
  const patches = [{ file: 'lib/loop/park.ts', find: 'not in there', put: '' }]
  await expect(withMutant({ name: 'gone', patches }, async () => undefined)).rejects.toThrow('stands 0 times')
})

test('every mutant is told of in docs/reliability.md', () => {
  const page = readFileSync(new URL('../../docs/reliability.md', import.meta.url), 'utf8')
  expect(MUTANTS.filter(({ name }) => !page.includes(`| ${name} |`)).map(({ name }) => name)).toEqual([])
})
