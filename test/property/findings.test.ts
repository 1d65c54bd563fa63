import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { finding, findingDraft } from '../../lib/loop/finding.ts'
import { normalisePath } from '../../lib/loop/findings.ts'
import { aDraft, checked } from '../support/findings.ts'

const line = fc.string({ maxLength: 8 }).map((text) => text.replaceAll('\n', ' '))

test('ids do not move with the lines above', () => {
  const given = fc.record({
    // Other lines than the ones above: an equal line above is another place among equals.
    lines: fc.array(line, { minLength: 1, maxLength: 20 }),
    above: fc.array(
      line.map((text) => `above ${text}`),
      { maxLength: 10 },
    ),
    rules: fc.array(fc.constantFrom('a', 'b'), { minLength: 1, maxLength: 20 }),
  })
  fc.assert(
    fc.property(given, ({ lines, above, rules }) => {
      const idsOf = (shift: number, content: readonly string[]) =>
        checked(
          rules.map((rule, index) => aDraft({ rule, line: (index % lines.length) + 1 + shift })),
          { 'src/a.ts': `${content.join('\n')}\n` },
        ).findings.map(({ id }) => id)
      expect(idsOf(above.length, [...above, ...lines])).toEqual(idsOf(0, lines))
    }),
  )
})

const part = fc.constantFrom('..', '.', '.git', 'src', 'a.ts', '', '/', '\\', '\0', 'C:', '~', '.GIT ')
const path = fc.oneof(
  fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join('/')),
  fc.string({ maxLength: 30 }),
)

test('no path that is let through leads out of the workspace', () => {
  fc.assert(
    fc.property(path, (given) => {
      const normal = normalisePath(given)
      const safe = (text: string) =>
        !text.startsWith('/') &&
        !/[\\\0]/.test(text) &&
        text.split('/').every((name) => name !== '' && name !== '.' && name !== '..' && !/^\.git[. ]*$/i.test(name))
      expect('reason' in normal || safe(normal.path)).toBe(true)
      // What was let through once stays as it is.
      expect('reason' in normal ? normal : normalisePath(normal.path)).toEqual(normal)
    }),
    { numRuns: 2000 },
  )
})

test('every draft is either refused or comes out as a valid finding, once an id', () => {
  const draft = fc.record(
    {
      rule: fc.string({ minLength: 1, maxLength: 20 }),
      severity: fc.constantFrom('error' as const, 'warning' as const, 'info' as const),
      file: fc.oneof({ weight: 3, arbitrary: fc.constant('src/a.ts') }, { weight: 1, arbitrary: path.filter((text) => text.length > 0) }),
      text: fc.string({ minLength: 1, maxLength: 40 }),
      action: fc.constantFrom('auto-fix' as const, 'ask-user' as const, 'no-op' as const),
      line: fc.nat({ max: 12 }).map((number) => number + 1),
      endLine: fc.nat({ max: 12 }).map((number) => number + 1),
    },
    { requiredKeys: ['rule', 'severity', 'file', 'text'] },
  )
  fc.assert(
    fc.property(fc.array(draft, { maxLength: 12 }), fc.array(line, { maxLength: 10 }), (drafts, lines) => {
      fc.pre(drafts.every((given) => findingDraft.safeParse(given).success))
      const { findings, refused } = checked(drafts, { 'src/a.ts': lines.join('\n') })
      expect(findings.every((found) => finding.safeParse(found).success)).toBe(true)
      expect(new Set(findings.map(({ id }) => id)).size).toBe(findings.length)
      expect(findings.length > 0 || refused.length === drafts.length).toBe(true)
      expect(findings.every(({ line: from, endLine }) => endLine === undefined || (from !== undefined && endLine > from))).toBe(true)
    }),
    { numRuns: 500 },
  )
})
