import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { LoopError } from '../../lib/loop/errors.ts'
import { policy, settings, type Settings } from '../../lib/loop/policy.ts'
import { parseSettings, resolvePolicy } from '../../lib/loop/settings.ts'

const agentName = fc.constantFrom('lint', 'claude', 'codex')
const order = fc.array(agentName, { minLength: 1, maxLength: 3 })
const given: fc.Arbitrary<Settings> = fc
  .record(
    {
      session_reuse: fc.boolean(),
      rounds: fc.integer({ min: 0, max: 10 }),
      certify: fc.constantFrom('auto', 'always', 'never'),
      ask: fc.constantFrom('always', 'never'),
      ask_hours: fc.integer({ min: 1, max: 576 }),
      block_on: fc.uniqueArray(fc.constantFrom('error', 'warning', 'info')),
      unread: fc.constantFrom('block', 'disclose'),
      ignore: fc.array(fc.constantFrom('a/', '**/*.js', '#x', 'y: z', '')),
      sessions: fc.record({ reviewer: fc.constantFrom('run', 'turn'), max_idle: fc.integer({ min: 1, max: 99 }) }, { requiredKeys: [] }),
      limits: fc.record({ files: fc.integer({ min: 1 }), dollars: fc.double({ min: 0.01, max: 1e6, noNaN: true }) }, { requiredKeys: [] }),
      agent: fc.record({ reviewer: order, fixer: order, certifier: order }, { requiredKeys: [] }),
      commit_message: fc.constantFrom('Fix', '{summary}\n\n{findings}', '# {count}'),
    },
    { requiredKeys: [] },
  )
  .map((value) => settings.parse({ ...value, ...(value.ignore && { ignore: value.ignore.filter(Boolean) }) }))

test('what is written is what is read, and no more', () => {
  fc.assert(
    fc.property(given, (value) => {
      expect(parseSettings(stringify(value), 'f')).toEqual(value)
    }),
  )
})

test('each key is the override, else the file, else the default', () => {
  const flat = (value: object): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(value).flatMap(([key, inner]) =>
        ['sessions', 'limits', 'agent'].includes(key)
          ? Object.entries(inner as object).map(([name, leaf]) => [`${key}.${name}`, leaf])
          : [[key, inner]],
      ),
    )
  fc.assert(
    fc.property(given, given, (file, overrides) => {
      const resolved = resolvePolicy({ text: stringify(file), file: 'f', overrides })
      expect(flat(resolved)).toEqual({ ...flat(policy.parse({})), ...flat(file), ...flat(overrides) })
      expect(policy.parse(resolved)).toEqual(resolved)
    }),
  )
})

test('any text is read, or refused with its place', () => {
  const piece = fc.oneof(
    fc.string({ maxLength: 10 }),
    fc.constantFrom(
      'rounds: ',
      'limits:\n  ',
      'files: 3\n',
      '[',
      '{',
      '- ',
      '&a ',
      '*a',
      '? ',
      '"',
      '|\n',
      '<<: ',
      '\n',
      '%',
      '!t ',
      '---\n',
      ': ',
      '\0',
    ),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      let error: unknown
      try {
        parseSettings(pieces.join(''), 'f')
      } catch (thrown) {
        error = thrown
      }
      expect(
        error === undefined || (error instanceof LoopError && error.name === 'BadSettings' && /^f:\d+:\d+: /.test(error.message)),
      ).toBe(true)
    }),
    { numRuns: 2000 },
  )
})
