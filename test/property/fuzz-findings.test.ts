/** Whatever an agent says it found: refused with a reason or made into valid findings, in work that grows with what was said and no faster. */
import * as fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { additionsOf, type DiffFile } from '../../lib/loop/diff.ts'
import { finding, findingDraft, type FindingDraft } from '../../lib/loop/finding.ts'
import { checkFindings, findingIds, lineTextOf, type LineText } from '../../lib/loop/findings.ts'
import { applyReview } from '../../lib/loop/ledger.ts'
import { emptyRecord, runRecord } from '../../lib/loop/record.ts'
import { aDiffFile, aDraft } from '../support/findings.ts'
import { scaled } from '../support/hostile.ts'

// A guard against hanging, and nothing else.
vi.setConfig({ testTimeout: 600_000 })

const nasty = fc.constantFrom(
  'https://a@',
  'password="123456"',
  'ghp_aaaaaaaaaaaaaaaaaaaaaaaa ',
  '-----BEGIN PRIVATE KEY-----',
  '\u202e',
  '\u001b[31m',
  '\0',
  '\n',
  '\ud800',
  '<script>',
  '__proto__',
  '| x |',
)
const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 60 }),
  fc.array(nasty, { minLength: 1, maxLength: 40 }).map((parts) => parts.join('')),
  fc.tuple(nasty, fc.integer({ min: 1, max: 8000 })).map(([part, length]) => part.repeat(Math.ceil(length / part.length)).slice(0, length)),
)
const place = fc.oneof(
  fc.constantFrom(
    'src/a.ts',
    './src//a.ts',
    'src\\a.ts',
    'old.ts',
    'gone.ts',
    '../x',
    '/etc/passwd',
    '.git/config',
    'link',
    'no/such',
    'x'.repeat(4096),
  ),
  text.map((one) => one.slice(0, 4096)),
)
const number = fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constantFrom(Number.MAX_SAFE_INTEGER, 2 ** 31))
const draft: fc.Arbitrary<FindingDraft> = fc
  .record(
    {
      rule: text.map((one) => one.slice(0, 200)),
      severity: fc.constantFrom('error' as const, 'warning' as const, 'info' as const),
      file: place,
      text,
      action: fc.constantFrom('auto-fix' as const, 'ask-user' as const, 'no-op' as const),
      line: number,
      endLine: number,
    },
    { requiredKeys: ['rule', 'severity', 'file', 'text'] },
  )
  .filter((one) => findingDraft.safeParse(one).success)

const content = Array.from({ length: 20 }, (_, index) => (index % 3 ? 'same' : `line ${index}`)).join('\n')
const diff: DiffFile[] = [
  aDiffFile('src/a.ts', [2, 3, 5, 8, 13]),
  aDiffFile('new.ts', [1], { oldPath: 'old.ts', status: 'renamed' }),
  aDiffFile('gone.ts', [], { status: 'deleted', newMode: null }),
]
const contextOf = (lineText: LineText) => ({
  diff,
  files: new Set(['src/a.ts', 'new.ts', 'link']),
  isSymlink: (path: string) => path === 'link',
  lineText,
})

test('any findings: what is kept is valid, what is not has a reason, and the record that takes them is valid', () => {
  fc.assert(
    fc.property(fc.array(draft, { maxLength: 15 }), (drafts) => {
      const { findings, refused } = checkFindings(drafts, contextOf(lineTextOf(new Map([['src/a.ts', content]]))))
      for (const found of findings) expect(finding.safeParse(found).error).toBeUndefined()
      expect(findings.length + refused.length).toBeLessThanOrEqual(drafts.length)
      expect(findings.length > 0 || refused.length === drafts.length).toBe(true)
      expect(refused.every(({ reason }) => reason !== '' && reason.length < 200)).toBe(true)
      const record = applyReview(emptyRecord(), { role: 'reviewer', turn: 1, round: 0, findings, accounts: [], given: [] })
      expect(runRecord.safeParse(JSON.parse(JSON.stringify(record))).error).toBeUndefined()
    }),
    { numRuns: scaled(400, 20_000) },
  )
})

test('the text of lines is asked for so often and no more, however far away a line is', () => {
  fc.assert(
    fc.property(fc.array(draft, { maxLength: 30 }), (drafts) => {
      let asked = 0
      const lineText = lineTextOf(new Map([['src/a.ts', content]]))
      checkFindings(
        drafts,
        contextOf((file, line) => {
          asked++
          return lineText(file, line)
        }),
      )
      // Once for its place, once for its id, and the search for the last line that there is.
      expect(asked).toBeLessThanOrEqual(drafts.length * 60)
    }),
    { numRuns: scaled(200, 5000) },
  )
})

test('the lines of a file are gathered once, however many findings stand in it', () => {
  const count = scaled(20_000, 200_000)
  let read = 0
  const lines = Array.from({ length: count }, (_, index) => ({ kind: 'added' as const, text: 'x', oldLine: null, newLine: index + 1 }))
  const counted = new Proxy(lines, {
    get: (target, key, receiver) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) read++
      return Reflect.get(target, key, receiver) as unknown
    },
  })
  const isAdded = additionsOf([aDiffFile('a', [], { hunks: [{ oldStart: 0, oldCount: 0, newStart: 1, newCount: count, lines: counted }] })])
  for (let line = 1; line <= count; line++) expect(isAdded('a', line, line + 5) && !isAdded('b', line, line)).toBe(true)
  expect(read).toBeLessThan(3 * count)
})

test('thousands of findings of one rule on lines that are alike have ids of their own', () => {
  const count = scaled(10_000, 100_000)
  let asked = 0
  const drafts = Array.from({ length: count }, (_, index) => aDraft({ line: index + 1 }))
  const ids = findingIds(drafts, () => {
    asked++
    return 'same'
  })
  expect(new Set(ids).size).toBe(count)
  expect(asked).toBe(count)
})

test('additions are those of the model, for any lines and any range', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 30 })), fc.integer({ min: 1, max: 32 }), fc.nat({ max: 10 }), (lines, first, length) => {
      const expected = lines.some((line) => line >= first && line <= first + length)
      expect(additionsOf([aDiffFile('a', lines)])('a', first, first + length)).toBe(expected)
    }),
  )
})
