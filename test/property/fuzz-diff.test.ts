/** Whatever git, or what stands in for it, prints: the parsers of diffs give a model within their budget, and never more. */
import * as fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { LEAST_LINE_BYTES, patchParser, type PatchSection } from '../../lib/workspace/diff-patch.ts'
import { namesOf, parseRaw } from '../../lib/workspace/diff-raw.ts'
import { scaled } from '../support/hostile.ts'

// A guard against hanging, and nothing else.
vi.setConfig({ testTimeout: 600_000 })

const piece = fc.oneof(
  fc.constantFrom('diff --git a/x b/x\n', '--- a/x\n', '+++ b/x\n', '@@ -1 +1 @@\n', '@@ -0,0 +1,3 @@\n', '@@ -1,9 +1,9 @@ f\n'),
  fc.constantFrom(
    '@@ -99999999999999999999 +1 @@\n',
    '@@ -1,0 +1,0 @@\n',
    '@@ -a +b @@\n',
    'Binary files a/x and b/x differ\n',
    'GIT binary patch\n',
  ),
  fc.constantFrom('+added\n', '-removed\n', ' context\n', '\\ No newline at end of file\n', '\n', '\r\n', '\0', '+\u2028\f\v\n', '+no end'),
  fc.string({ maxLength: 30 }),
)
const text = fc.array(piece, { maxLength: 60 }).map((pieces) => Buffer.from(pieces.join('')))
const bytes = fc.oneof(
  text,
  fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array)),
)

const parse = (input: Buffer, budget: number, sizes: readonly number[]): PatchSection[] => {
  const parser = patchParser(budget)
  for (let at = 0, turn = 0; at < input.length; turn++) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? 1)
    parser.push(input.subarray(at, at + size))
    at += size
  }
  return parser.end()
}

const linesOf = (sections: readonly PatchSection[]) => sections.flatMap(({ hunks }) => hunks.flatMap(({ lines }) => lines))

test('any bytes, in any pieces: the same sections, within the budget', () => {
  fc.assert(
    fc.property(
      bytes,
      fc.nat({ max: 3000 }),
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 }),
      (input, budget, sizes) => {
        const sections = parse(input, budget, sizes)
        expect(parse(input, budget, [input.length || 1])).toEqual(sections)
        const lines = linesOf(sections)
        expect(lines.length * LEAST_LINE_BYTES).toBeLessThanOrEqual(budget + LEAST_LINE_BYTES)
        expect(sections.every(({ tooLarge, hunks }) => !tooLarge || hunks.length === 0)).toBe(true)
        // A line has the number of each side that it stands on, and no other.
        for (const { kind, oldLine, newLine } of lines)
          expect([oldLine === null, newLine === null]).toEqual([kind === 'added', kind === 'removed'])
      },
    ),
    { numRuns: scaled(1500, 100_000) },
  )
})

test('what a model of hunks is printed as is parsed as that model', () => {
  const line = fc.record({
    kind: fc.constantFrom('context', 'added', 'removed'),
    text: fc.string({ maxLength: 12 }).map((one) => one.replaceAll('\n', '')),
  })
  const hunk = fc.record({
    oldStart: fc.integer({ min: 1, max: 1e6 }),
    newStart: fc.integer({ min: 1, max: 1e6 }),
    lines: fc.array(line, { minLength: 1, maxLength: 8 }),
  })
  const marks = { context: ' ', added: '+', removed: '-' } as const
  fc.assert(
    fc.property(fc.array(fc.array(hunk, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }), (files) => {
      const printed = files
        .map((hunks) =>
          hunks.reduce((all, { oldStart, newStart, lines }) => {
            const count = (not: string) => lines.filter(({ kind }) => kind !== not).length
            const body = lines.map((one) => `${marks[one.kind]}${one.text}\n`).join('')
            return `${all}@@ -${oldStart},${count('added')} +${newStart},${count('removed')} @@ x\n${body}`
          }, 'diff --git a/f b/f\nindex 1..2 100644\n--- a/f\n+++ b/f\n'),
        )
        .join('')
      const parsed = parse(Buffer.from(printed), 1_000_000, [7, 1, 64])
      expect(
        parsed.map(({ hunks }) =>
          hunks.map(({ oldStart, newStart, lines }) => ({
            oldStart,
            newStart,
            lines: lines.map(({ kind, text: own }) => ({ kind, text: own })),
          })),
        ),
      ).toEqual(files)
    }),
    { numRuns: scaled(300, 20_000) },
  )
})

test('much of one thing, just under the budget and megabytes over it, is kept within the budget', () => {
  const budget = 1_000_000
  const head = Buffer.from('diff --git a/x b/x\n@@ -0,0 +1,99999999 @@\n')
  for (const what of ['+\n', '+', ' ', '-\n+\n', '+x\r', '\\ \n', '@@ -1 +1 @@\n', '\0', 'diff --git a/x b/x\n@@ -1 +1 @@\n+x\n']) {
    for (const total of [budget * 0.9, scaled(4, 64) * 1024 * 1024]) {
      const parser = patchParser(budget)
      parser.push(head)
      const chunk = Buffer.from(what.repeat(Math.ceil(16_384 / what.length)))
      for (let sent = 0; sent + chunk.length < total; sent += chunk.length) parser.push(chunk)
      const kept = linesOf(parser.end())
      expect(kept.reduce((sum, line) => sum + Math.max(LEAST_LINE_BYTES, line.text.length), 0)).toBeLessThanOrEqual(
        budget + LEAST_LINE_BYTES,
      )
    }
  }
})

test('any list of changes is read: as many as it has room for, each path with what is wrong with it', () => {
  const record = fc.oneof(
    fc
      .tuple(fc.constantFrom('M', 'A', 'D', 'T', 'R097', 'C100', '', 'XYZ'), fc.string({ maxLength: 12 }))
      .map(([status, path]) => `:100644 100755 1 2 ${status}\0${path}\0`),
    fc.string({ maxLength: 20 }),
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(record, { maxLength: 20 }).map((all) => Buffer.from(all.join(''))),
        bytes,
      ),
      (input) => {
        const changes = parseRaw(input)
        expect(changes.length).toBeLessThanOrEqual(namesOf(input).length)
        for (const { path, problem } of changes)
          expect(problem !== null || (path !== '' && !path.startsWith('/') && !path.split('/').includes('..'))).toBe(true)
      },
    ),
    { numRuns: scaled(500, 50_000) },
  )
})
