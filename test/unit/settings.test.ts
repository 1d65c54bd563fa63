import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { commitMessage } from '../../lib/loop/commit-message.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import { policy, settings } from '../../lib/loop/policy.ts'
import { runRequest } from '../../lib/loop/run.ts'
import { settingsExample } from '../../lib/loop/settings-example.ts'
import { parseSettings, resolvePolicy, settingsJsonSchema } from '../../lib/loop/settings.ts'

const DEFAULTS = policy.parse({})
const resolve = (text: string | null, overrides = {}) => resolvePolicy({ text, file: '.reviewloop.yaml', overrides })
const refused = (text: string): LoopError => {
  try {
    parseSettings(text, '.reviewloop.yaml')
  } catch (error) {
    if (error instanceof LoopError) return error
    throw error
  }
  throw new Error('It was not refused.')
}

describe('the policy', () => {
  test.each([null, '', '# nothing\n', '---\n', '{}', 'null', '\ufeff', 'limits: {}'])('of %j is the defaults', (text) => {
    expect(resolve(text)).toEqual(DEFAULTS)
  })

  test('is the defaults, under the file, under the overrides, each key for itself', () => {
    const text = 'rounds: 1\nlimits: {files: 3, depth: 4}\nsessions: {fixer: cycle}\nignore: [a]\nagent: {fixer: codex}\n'
    const overrides = { limits: { files: 5 }, ignore: ['b'], agent: { reviewer: ['claude', 'lint'] }, certify: undefined }
    expect(resolve(text, overrides)).toEqual({
      ...DEFAULTS,
      rounds: 1,
      limits: { ...DEFAULTS.limits, files: 5, depth: 4 },
      sessions: { ...DEFAULTS.sessions, fixer: 'cycle' },
      ignore: ['b'],
      agent: { reviewer: ['claude', 'lint'], fixer: ['codex'] },
    })
  })

  test('overrides hold no defaults, so that none hides what the file says', () => {
    expect(settings.parse({ limits: {} })).toEqual({ limits: {} })
    const request = { repository: '/x', branch: null, base: 'a'.repeat(40), head: 'b'.repeat(40) }
    expect(runRequest.parse({ ...request, overrides: { rounds: 2 } }).overrides).toEqual({ rounds: 2 })
    expect(
      resolve('certify: never\nlimits: {files: 3}', runRequest.parse({ ...request, overrides: { limits: {} } }).overrides),
    ).toMatchObject({
      certify: 'never',
      limits: { files: 3 },
    })
  })

  test.each([
    ['agent: lint', { reviewer: ['lint'], fixer: ['lint'], certifier: ['lint'] }],
    ['agent: [claude, lint]', { reviewer: ['claude', 'lint'], fixer: ['claude', 'lint'], certifier: ['claude', 'lint'] }],
    ['agent: {reviewer: a, fixer: [b, c], certifier: d}', { reviewer: ['a'], fixer: ['b', 'c'], certifier: ['d'] }],
  ])('%s', (text, agent) => {
    expect(resolve(text).agent).toEqual(agent)
    // What was read once is read again: overrides are stored with the run.
    expect(settings.parse(settings.parse({ agent }))).toEqual({ agent })
  })

  test('overrides that are wrong are refused as well', () => {
    expect(() => resolve(null, { rounds: 99 })).toThrow(
      expect.objectContaining({
        name: 'BadSettings',
        message: '.reviewloop.yaml: rounds: wrong value; allowed: a whole number from 0 to 10',
      }),
    )
  })
})

test('case 28: overrides that the run item could not hold are refused', () => {
  const path_instructions = Array.from({ length: 9 }, (_, at) => ({ path: `${at}`, instructions: 'x'.repeat(8000) }))
  expect(() => resolve(null, { path_instructions })).toThrow(
    expect.objectContaining({ name: 'BadSettings', message: 'overrides: they are too large; allowed: at most 64 KB' }),
  )
})

describe('a wrong file', () => {
  test.each([
    ['rounds: 99', '1:9: rounds: wrong value; allowed: a whole number from 0 to 10'],
    ['rounds: two', '1:9: rounds: wrong value; allowed: a whole number from 0 to 10'],
    ['rounds:', '1:8: rounds: wrong value; allowed: a whole number from 0 to 10'],
    ['# a\n\ncertify: maybe', '3:10: certify: wrong value; allowed: auto, always, never'],
    ['session_reuse: yes', '1:16: session_reuse: wrong value; allowed: true, false'],
    ['limits:\n  files: 1\n  dollars: 0', '3:12: limits.dollars: wrong value; allowed: a number above 0'],
    ['limits:\n  fils: 1', '2:3: limits.fils: unknown key; allowed: the keys files, bytes, depth'],
    ['round: 1', '1:1: round: unknown key; allowed: the keys session_reuse, rounds'],
    ['__proto__: {rounds: 1}', '1:1: __proto__: unknown key'],
    ['block_on: [error, fatal]', '1:19: block_on.1: wrong value; allowed: error, warning, info'],
    ['ignore: vendor', '1:9: ignore: wrong value; allowed: a list of at most 500 of (a text of at most 1000 characters)'],
    ['ignore: ["!keep"]', '1:10: ignore.0: wrong value; allowed: a glob without a leading "!"'],
    ['path_instructions:\n  - path: a', '2:5: path_instructions.0.instructions: wrong value; allowed: a text of at most 8000 characters'],
    ['agent: 3', '1:8: agent: wrong value; allowed: a text, or a list of at most 10 of (a text), or the keys reviewer, fixer, certifier'],
    ['commit_message: "{sumary}"', '1:17: commit_message: wrong value; allowed: a text whose placeholders are of {summary}'],
    ['limits: 3', '1:9: limits: wrong value; allowed: the keys files'],
    ['rounds: 1\nrounds: 2', '2:1: Map keys must be unique'],
    ['- rounds', '1:1: the file holds no keys; allowed: a mapping of keys to values'],
    ['just text', '1:1: the file holds no keys'],
    ['a: &x [1]\nb: *x', '1:7: anchors and aliases are not allowed'],
    ['rounds: !!js/function 1', '1:9: Unresolved tag'],
    ['rounds: [1', '1:11: Flow sequence'],
    ['\trounds: 1', '1:1: Tabs are not allowed'],
    ['rounds: 1\n---\nrounds: 2', '2:1: more than one document'],
  ])('%j', (text, message) => {
    const error = refused(text)
    expect(error.name).toBe('BadSettings')
    expect(error.message).toContain(`.reviewloop.yaml:${message}`)
    expect(error.message.split('\n')).toHaveLength(1)
  })

  test('names every problem, in the order of the file, with its place as data', () => {
    const error = refused('rounds: -1\nfoo: 1\nsessions:\n  reviewer: never\n')
    expect(error.details['problems']).toMatchObject([
      { line: 1, column: 9, key: 'rounds' },
      { line: 2, column: 1, key: 'foo', message: 'unknown key' },
      { line: 4, column: 13, key: 'sessions.reviewer', allowed: 'run, turn' },
    ])
  })

  test('is too large', () => {
    expect(refused(`ignore: [${'a, '.repeat(30_000)}]`).message).toBe('.reviewloop.yaml:1:1: the file is too large; allowed: at most 64 KB')
  })

  test('names at most ten', () => {
    const error = refused(Array.from({ length: 30 }, (_, index) => `key${index}: 1`).join('\n'))
    expect(error.message.split('\n')).toHaveLength(11)
    expect(error.message).toContain('and 20 more')
  })

  test.each([
    ['brackets', '['.repeat(60_000)],
    ['braces', '{a: '.repeat(15_000)],
    ['keys of keys', '? '.repeat(30_000)],
    ['aliases', `a: &a [x]\n${'b: [*a, *a, *a]\n'.repeat(3000)}`],
  ])('that is made to be hard to read is refused: %s', (_name, text) => {
    expect(refused(text).name).toBe('BadSettings')
  })

  test('a key is not carried into the message as it is', () => {
    expect(refused(`"a\\e[31m${'x'.repeat(500)}": 1`).message).not.toMatch(/\u001b|x{200}/)
  })
})

describe('the file that init writes', () => {
  test('says every default and nothing else', () => {
    const text = settingsExample()
    expect(parse(text)).toEqual(DEFAULTS)
    expect(parseSettings(text, 'x')).toEqual(DEFAULTS)
    expect(resolve(text)).toEqual(DEFAULTS)
  })

  test('explains every key', () => {
    const lines = settingsExample().split('\n')
    const keys = lines.flatMap((line, index) => (/^ {0,2}[a-z_]+:/.test(line) ? [{ line, above: lines[index - 1] ?? '' }] : []))
    expect(keys).toHaveLength([DEFAULTS, DEFAULTS.sessions, DEFAULTS.limits].flatMap((keysOf) => Object.keys(keysOf)).length)
    expect(keys.filter(({ above }) => !/^ *# /.test(above))).toEqual([])
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(112)
  })

  test('has a JSON schema with the same keys', () => {
    const schema = settingsJsonSchema()
    expect(Object.keys(schema.properties ?? {}).toSorted()).toEqual([...Object.keys(DEFAULTS), 'agent'].toSorted())
    expect(schema.properties?.['limits']?.properties?.['files']).toMatchObject({ type: 'integer', minimum: 1 })
  })
})

describe('the commit message', () => {
  const facts = {
    run: 'r-1',
    round: 2,
    summary: 'All\nmended.',
    findings: [
      { rule: 'no-eval', file: 'a.ts', line: 3, text: 'eval {run}\nmore' },
      { rule: 'x', file: 'b', text: 'y' },
    ],
  }

  test('is the template filled in', () => {
    expect(commitMessage(DEFAULTS.commit_message, facts)).toBe(
      'Fix 2 review findings\n\n- a.ts:3: eval {run} (no-eval)\n- b: y (x)\n\nReviewloop-Run: r-1\n',
    )
    expect(commitMessage('{round}/{summary}/{other}', facts)).toBe('2/All mended./{other}\n')
  })

  test('takes at most 50 findings of one line each, without control characters', () => {
    const findings = Array.from({ length: 60 }, () => ({ rule: 'r', file: 'f', text: `\u001b[1m${'long '.repeat(100)}` }))
    const lines = commitMessage('{findings}', { ...facts, findings })
      .trimEnd()
      .split('\n')
    expect(lines).toHaveLength(51)
    expect(lines.at(-1)).toBe('- and 10 more')
    expect(lines.every((line) => line.length <= 100 && !line.includes('\u001b'))).toBe(true)
  })

  test('lets no text begin a line, and so a trailer, of its own', () => {
    const text = 'x\n\nSigned-off-by: eve <eve@example.com>'
    const message = commitMessage('{summary}\n\n{findings}', {
      ...facts,
      summary: text,
      findings: [{ rule: 'r\nCo-authored-by: eve', file: 'f\nA: b', text }],
    })
    expect(message).not.toMatch(/^(?:Signed-off-by|Co-authored-by|A):/m)
  })

  test('is never empty', () => {
    expect(commitMessage('{findings}', { ...facts, findings: [] })).toBe('Fix review findings\n')
  })
})
