/** What of a change is shown, in which part, and what is named as left out. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MOST_LINE, tokensOfText } from '../../lib/loop/prompts/diff-text.ts'
import { planParts, riskOf } from '../../lib/loop/prompts/plan.ts'
import { fileDiff } from '../support/memory-files.ts'

const lines = (count: number, word: string): string => Array.from({ length: count }, (_, at) => `${word} ${at}\n`).join('')
const added = (path: string, count: number) => fileDiff(path, null, lines(count, path))

describe('the plan of a look', () => {
  it('shows all of a small change in one part, a folder together', () => {
    const { parts, skipped } = planParts([added('b/x.ts', 3), added('a/y.ts', 3), added('b/a.ts', 3)], { part: 10_000, parts: 4 })
    expect(parts).toHaveLength(1)
    expect(skipped).toEqual([])
    const order = ['a/y.ts', 'b/a.ts', 'b/x.ts'].map((path) => parts[0]?.text.indexOf(`added "${path}"`) ?? -1)
    expect(order).toEqual(order.toSorted((a, b) => a - b))
    expect(order).not.toContain(-1)
  })

  it('shows what is risky first, and names what did not fit', () => {
    const files = [added('README.md', 90), added('package-lock.json', 60), added('src/auth/login.ts', 60), added('src/list.ts', 60)]
    const { parts, skipped } = planParts(files, { part: 1000, parts: 2 })
    expect(parts[0]?.text).toContain('login.ts')
    expect(parts[1]?.text).toContain('list.ts')
    expect(skipped.map(({ file }) => file)).toEqual(['README.md', 'package-lock.json'])
    expect(skipped[0]?.reason).toContain('larger than what one turn may read')
  })

  it('goes on in the next part with a file that is larger than one', () => {
    const { parts, skipped } = planParts([added('big.ts', 200)], { part: 600, parts: 10 })
    expect(parts.length).toBeGreaterThan(2)
    expect(skipped).toEqual([])
    const text = parts.map((part) => part.text).join('\n')
    for (let at = 0; at < 200; at++) expect(text).toContain(`+ big.ts ${at}`)
    expect(parts.map(({ shown }) => Object.keys(shown))).toEqual([...parts.slice(1).map(() => []), ['big.ts']])
  })

  it('shows the beginning of a line that is a whole file, and says that it was not read whole', () => {
    const { parts, skipped } = planParts([fileDiff('app.js', 'a\n', `${'x'.repeat(500_000)}\n`)], { part: 5000, parts: 1 })
    expect(parts[0]?.text.length).toBeLessThan(MOST_LINE + 300)
    expect(parts[0]?.text).toContain(`and ${500_000 - MOST_LINE} more characters`)
    expect(skipped).toEqual([{ file: 'app.js', reason: 'lines too long to be read whole: 1' }])
    expect(parts[0]?.shown).toEqual({})
  })

  it('has a part even where there is nothing to show', () => {
    expect(planParts([], { part: 100, parts: 1 })).toEqual({ parts: [{ text: '', shown: {} }], unchanged: [], skipped: [] })
  })

  it('ranks by where a defect costs most', () => {
    const rank = (path: string) => riskOf({ path, status: 'modified' })
    expect(rank('src/auth.ts')).toBeGreaterThan(rank('src/list.ts'))
    expect(rank('.github/workflows/ci.yml')).toBeGreaterThan(rank('notes.yml'))
    expect(rank('src/list.ts')).toBeGreaterThan(rank('test/list.test.ts'))
    expect(rank('notes.md')).toBeGreaterThan(rank('yarn.lock'))
  })

  it('drops no file: each is in a part, known from before, or named as skipped', () => {
    const files = fc.uniqueArray(
      fc.record({ path: fc.stringMatching(/^[a-z]{1,8}\/[a-z]{1,8}\.(ts|md|lock)$/), count: fc.integer({ min: 1, max: 120 }) }),
      { selector: ({ path }) => path, maxLength: 12 },
    )
    fc.assert(
      fc.property(files, fc.integer({ min: 20, max: 800 }), fc.integer({ min: 1, max: 4 }), (given, part, most) => {
        const diff = given.map(({ path, count }) => added(path, count))
        const { parts, skipped } = planParts(diff, { part, parts: most })
        expect(parts.length).toBeLessThanOrEqual(most)
        const shown = parts.flatMap((one) => Object.keys(one.shown))
        expect([...shown, ...skipped.map(({ file }) => file)].toSorted()).toEqual(diff.map(({ path }) => path).toSorted())
        // a part is over its budget only by a piece that alone is
        for (const one of parts) expect(tokensOfText(one.text)).toBeLessThanOrEqual(part + 60)
        const again = planParts(diff, { part, parts: most }, Object.assign({}, ...parts.map((one) => one.shown)))
        expect(again.unchanged.toSorted()).toEqual(shown.toSorted())
      }),
      { numRuns: 150 },
    )
  })
})
