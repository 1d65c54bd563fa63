import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import picomatch from 'picomatch'
import { describe, expect, test } from 'vitest'
import { LoopError } from '../../lib/loop/errors.ts'
import { globOf, noMistakesNotice, readNoMistakes } from '../../lib/loop/no-mistakes.ts'
import { NO_MISTAKES_FILE, policy, settings } from '../../lib/loop/policy.ts'
import { resolvePolicy } from '../../lib/loop/settings.ts'

const DEFAULTS = policy.parse({})
const page = readFileSync(join(import.meta.dirname, '../../docs/migrating.md'), 'utf8')
const settingsIn = (text: string) => readNoMistakes(text, NO_MISTAKES_FILE).settings

const WHOLE = `
agent: codex
commands: {test: go test ./..., lint: golangci-lint run}
session_reuse: false
ignore_patterns: ["*.generated.go", "vendor/**"]
review:
  path_instructions:
    - path: internal/scm/**
      instructions: Credentials go through safeurl.
auto_fix: {rebase: 3, review: 2, test: 3}
commit:
  fix_message: "chore({{.Step}}): {{ .Summary }}"
something_new: 1
`

describe('a .no-mistakes.yaml', () => {
  test('gives the keys that mean the same, and names all others', () => {
    const { settings: found, taken, left } = readNoMistakes(WHOLE, NO_MISTAKES_FILE)
    expect(found).toEqual({
      session_reuse: false,
      rounds: 2,
      ignore: ['**/*.generated.go', 'vendor/**'],
      path_instructions: [{ path: 'internal/scm/**', instructions: 'Credentials go through safeurl.' }],
      commit_message: 'chore(review): {summary}\n\n{findings}\n\nReviewloop-Run: {run}',
    })
    expect(taken).toEqual(['session_reuse', 'auto_fix.review', 'ignore_patterns', 'review.path_instructions', 'commit.fix_message'])
    expect(left.toSorted()).toEqual(['agent', 'auto_fix.rebase', 'auto_fix.test', 'commands', 'something_new'])
    expect(settings.parse(found)).toEqual(found)
  })

  test('stands under what the request says, over the defaults', () => {
    const parse = (text: string, file: string) => readNoMistakes(text, file).settings
    expect(resolvePolicy({ text: WHOLE, file: 'f', overrides: { rounds: 7 }, parse })).toMatchObject({
      rounds: 7,
      session_reuse: false,
      limits: DEFAULTS.limits,
    })
  })

  test.each(['', '# nothing', '{}', 'auto_fix:\nreview:\ncommit:\nignore_patterns:\nsession_reuse:'])(
    'without values (%j) gives none',
    (text) => {
      expect(settingsIn(text)).toEqual({})
    },
  )

  test.each([
    [12, 10, 'auto_fix.review (as 10)'],
    [10, 10, 'auto_fix.review'],
    [-1, 0, 'auto_fix.review (as 0)'],
  ])('auto_fix.review %i is %i rounds', (attempts, rounds, said) => {
    expect(readNoMistakes(`auto_fix: {review: ${attempts}}`, 'f')).toMatchObject({ settings: { rounds }, taken: [said] })
  })

  test.each(['{{if .Step}}x{{end}}', 'fix {summary}', '{{.Step', '{{.Other}}', 'two\nlines'])(
    'a message that is not ours to fill in is not taken, and that is said: %j',
    (template) => {
      const { settings: found, taken, left } = readNoMistakes(`commit: {fix_message: ${JSON.stringify(template)}}`, 'f')
      expect({ found, taken }).toEqual({ found: {}, taken: [] })
      expect(left.join()).toMatch(/^commit\.fix_message \(only/)
    },
  )

  test.each([
    ['auto_fix: {review: many}', '1:20: auto_fix.review: wrong value; allowed: a whole number'],
    ['a: 1\nignore_patterns: vendor', '2:18: ignore_patterns: wrong value; allowed: a list'],
    ['review:\n  path_instructions:\n    - path: x', '3:7: review.path_instructions.0.instructions: wrong value'],
    ['session_reuse: 3', '1:16: session_reuse: wrong value'],
    ['a: &b 1', '1:7: anchors and aliases'],
    ['- a', '1:1: the file holds no keys'],
  ])('with a wrong value is refused with its place: %j', (text, message) => {
    const refused = () => readNoMistakes(text, NO_MISTAKES_FILE)
    expect(refused).toThrow(LoopError)
    expect(refused).toThrow(`${NO_MISTAKES_FILE}:${message}`)
  })

  test('is said to people by name, with a bound on names that it makes up', () => {
    expect(noMistakesNotice(WHOLE)).toMatch(
      /^The base branch has no \.reviewloop\.yaml: .*\.no-mistakes\.yaml.*Taken: session_reuse, .*Not taken: auto_fix\.rebase, /,
    )
    const many = noMistakesNotice(Array.from({ length: 200 }, (_, at) => `"k${at}\\e[31m${'x'.repeat(200)}": 1`).join('\n'))
    expect(many).toContain('and 170 more')
    expect(many).not.toMatch(/\u001b|x{150}/)
  })
})

/** What their matcher does, told without globs: by folder, by name, or segment by segment. */
const theirMatch = (pattern: string, path: string): boolean => {
  if (pattern.endsWith('/**')) return path === pattern.slice(0, -3) || path.startsWith(pattern.slice(0, -2))
  const source = pattern
    .replace(/[.+^${}()|\\]/g, '\\$&')
    .replace(/\*+/g, '[^/]*')
    .replace(/\?/g, '[^/]')
  return new RegExp(`^${source}$`).test(pattern.includes('/') ? path : path.slice(path.lastIndexOf('/') + 1))
}

describe('a pattern', () => {
  const PATHS = [
    'a.go', '.a.go', 'x/a.go', 'x/y/a.go', 'x/.y/a.go', 'vendor', 'vendor/a', 'vendor/x/.a', 'my vendor/a', '{a,b}.go', 'b.go', 'x/{a,b}.go',
    'a+(b)', 'aab', '!x', 'x', '@(a)', 'a', '**/gen/a', 'x/gen/a', 'docs/a.md', 'docs/x/a.md', 'docs/é.md', '#a', 'a~', "it's", 'a$b', 'a,b|c',
  ] // prettier-ignore
  test.each([
    '*.go',
    '**/*.go',
    '**',
    '*',
    '?.go',
    'vendor/**',
    '**/gen/**',
    'docs/*.md',
    'docs/*',
    'docs/**/*.md',
    '{a,b}.go',
    'x/{a,b}.go',
    'a+(b)',
    '!x',
    '@(a)',
    '*/*',
    'a',
    'vendor',
    'x/a.go',
    'docs/?.md',
    '#a',
    'a~',
    "it's",
    'a$b',
    'a,b|c',
    'a*',
  ])('%j matches what it matches there', (pattern) => {
    const matches = picomatch(String(globOf(pattern)), { dot: true })
    expect(PATHS.filter((path) => matches(path))).toEqual(PATHS.filter((path) => theirMatch(pattern, path)))
  })

  test('with a class or an escaped character means the same', () => {
    const matching = (pattern: string, paths: string[]) => paths.filter((path) => picomatch(String(globOf(pattern)), { dot: true })(path))
    expect(matching('[ab].c', ['a.c', 'x/b.c', 'c.c'])).toEqual(['a.c', 'x/b.c'])
    expect(matching('[^a-y].c', ['a.c', 'z.c'])).toEqual(['z.c'])
    expect(matching('\\*.c', ['*.c', 'a.c'])).toEqual(['*.c'])
  })

  test.each(['', 'vendor/', '/x', '/**'])('%j matches nothing there: it is named and not taken', (pattern) => {
    expect(globOf(pattern)).toBeNull()
    const { settings: found, left } = readNoMistakes(`ignore_patterns: [${JSON.stringify(pattern)}, a]`, 'f')
    expect(found).toEqual({ ignore: ['**/a'] })
    expect(left).toEqual([`ignore_patterns ${JSON.stringify(pattern)} (matches no path)`])
  })

  test('is translated as the page says', () => {
    const rows = [...page.matchAll(/^\| `(\S+)` \| `(\S+)` \| [^|]*\|$/gm)].filter(([, , glob]) => glob?.includes('*'))
    expect(rows.length).toBeGreaterThan(4)
    for (const [, pattern = '', glob] of rows) expect(globOf(pattern)).toBe(glob)
  })
})

test('the page names every key that is taken', () => {
  for (const key of readNoMistakes(WHOLE, 'f').taken) expect(page).toContain(`| \`${key}\` |`)
})
