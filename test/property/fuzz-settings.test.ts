/** Whatever stands in a settings file, up to megabytes of it: settings, or BadSettings in a few lines. */
import * as fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { LoopError } from '../../lib/loop/errors.ts'
import { policy } from '../../lib/loop/policy.ts'
import { parseSettings, resolvePolicy } from '../../lib/loop/settings.ts'
import { scaled } from '../support/hostile.ts'

// A guard against hanging, and nothing else.
vi.setConfig({ testTimeout: 600_000 })

const VALID = `session_reuse: true
sessions:
  reviewer: turn
rounds: 2
block_on: [error, warning]
ignore:
  - "**/*.min.js"
  - vendor/
path_instructions:
  - path: "src/**"
    instructions: |
      Be kind.
agent: { reviewer: [lint], fixer: lint }
limits: { files: 10, dollars: 0.5 }
commit_message: "Fix {count}"
`

const refusedBy = (work: () => unknown): unknown => {
  try {
    work()
    return null
  } catch (error) {
    return error
  }
}
const expectBadSettings = (error: unknown): void => {
  expect(error).toBeInstanceOf(LoopError)
  expect((error as LoopError).name).toBe('BadSettings')
  const { message, details } = error as LoopError
  expect(message.length).toBeLessThan(12_000)
  expect(message.split('\n').length).toBeLessThanOrEqual(11)
  expect((details['problems'] as unknown[]).length).toBeLessThanOrEqual(10)
}

test('a valid file with anything put into it, taken out of it or turned over is read, or refused with its place', () => {
  const change = fc.record({
    at: fc.nat({ max: VALID.length }),
    take: fc.nat({ max: 4 }),
    put: fc.oneof(
      fc.constantFrom('\t', '  ', ':', '- ', '[', '{', '*x', '&x ', '!!js ', '"', '\n---\n', '\0', '__proto__: 1\n', '<<: 1\n', '\ud800'),
      fc.string({ maxLength: 8 }),
    ),
  })
  const seen = { read: 0, refused: 0 }
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 2 }), (changes) => {
      const text = changes.reduce((all, { at, take, put }) => all.slice(0, at) + put + all.slice(at + take), VALID)
      const error = refusedBy(() => parseSettings(text, 'f'))
      seen[error === null ? 'read' : 'refused']++
      if (error !== null) {
        expectBadSettings(error)
        return
      }
      expect(policy.safeParse(resolvePolicy({ text, file: 'f', overrides: {} })).success).toBe(true)
    }),
    { numRuns: scaled(600, 50_000) },
  )
  expect(Math.min(seen.read, seen.refused)).toBeGreaterThan(30)
})

test('files that were made to take long, and megabytes of anything, are refused in a few lines', () => {
  const KB64 = 64 * 1024
  const filled = (piece: string, length: number): string => piece.repeat(Math.ceil(length / piece.length)).slice(0, length)
  const lines = (line: (index: number) => string): string => {
    const all: string[] = []
    for (let length = 0; length < KB64 - 64; length += all.at(-1)!.length + 1) all.push(line(all.length))
    return all.join('\n')
  }
  const files = [
    ...['[', '{', '{a: ', '- ', '? ', '&a ', '*a ', '!', '"', "'", '|', '>', '\t', '#', '%', '---\n', ': ', 'a: [', '\u2028', '\ud800'].map(
      (piece) => filled(piece, KB64),
    ),
    lines((index) => `k${index}: 1`),
    lines((index) => `? k${index}`),
    `ignore:\n${lines(() => '- 1')}`,
    `ignore:\n${lines((index) => `- "!${index}"`)}`,
    `limits:\n${lines((index) => `  l${index}: 1`)}`,
    `a: &a [x]\n${lines((index) => `b${index}: [*a, *a, *a, *a, *a, *a, *a, *a]`)}`,
    `rounds: ${filled('9', 60_000)}`,
    `commit_message: "${filled('{x}', 60_000)}"`,
    ...['x', '\n', '- ', 'a: b\n'].map((piece) => filled(piece, scaled(2, 20) * 1024 * 1024)),
  ]
  const errors = files.map((text) => refusedBy(() => parseSettings(text, 'f'))).filter((error) => error !== null)
  for (const error of errors) expectBadSettings(error)
  // White space and comments are a file without a key.
  expect(files.length - errors.length).toBeLessThanOrEqual(3)
})

test('anything as an override is settings, or BadSettings', () => {
  fc.assert(
    fc.property(fc.anything({ maxDepth: 3 }), (overrides) => {
      fc.pre(overrides !== null && typeof overrides === 'object')
      const error = refusedBy(() => resolvePolicy({ text: VALID, file: 'f', overrides }))
      if (error !== null) expectBadSettings(error)
    }),
    { numRuns: scaled(300, 30_000) },
  )
})
