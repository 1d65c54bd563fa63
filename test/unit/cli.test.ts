import { describe, expect, test } from 'vitest'
import { parseAge } from '../../bin/commands/clean.ts'
import { atLeast } from '../../bin/commands/doctor.ts'
import { overridesOf } from '../../bin/commands/run.ts'
import { answerOf, parseAdded } from '../../bin/terminal/answer.ts'
import { asTyped, commandOn, typedIn } from '../../bin/terminal/command-name.ts'
import { exitCodeOfError, exitCodeOfRun } from '../../bin/terminal/exit.ts'
import { parseOutputs } from '../../bin/terminal/output.ts'
import { duration, paintFor } from '../../bin/terminal/paint.ts'
import { ERRORS, LoopError, type ErrorName } from '../../lib/loop/errors.ts'
import type { Verdict } from '../../lib/loop/run.ts'
import { OUTCOMES } from '../../lib/names.ts'
import { shellWord } from '../../lib/loop/take-fixes.ts'

const verdict = (outcome: Verdict['outcome'], error: string | null = null): Verdict => ({ outcome, reason: 'clean', by: null, error })

describe('exit codes', () => {
  test.each([
    ['approved', 0],
    ['changes-requested', 1],
    ['failed', 4],
    ['aborted', 5],
    ['superseded', 5],
  ] as const)('a run that ended %s gives %i', (outcome, code) => {
    expect(exitCodeOfRun({ status: 'ended', verdict: verdict(outcome) })).toBe(code)
  })
  test('every outcome has a code', () => {
    for (const outcome of OUTCOMES) expect(exitCodeOfRun({ status: 'ended', verdict: verdict(outcome) })).toBeTypeOf('number')
  })
  test('parked is 3, not ended is 130, bad settings found by the run are bad input', () => {
    expect(exitCodeOfRun({ status: 'parked', verdict: null })).toBe(3)
    expect(exitCodeOfRun({ status: 'running', verdict: null })).toBe(130)
    expect(exitCodeOfRun({ status: 'ended', verdict: verdict('failed', 'BadSettings') })).toBe(2)
    expect(exitCodeOfRun({ status: 'ended', verdict: verdict('failed', 'AgentFailed') })).toBe(4)
  })
  test.each(Object.keys(ERRORS) as ErrorName[])('%s: the user mends it (2), it was interrupted (130), or it failed (4)', (name) => {
    const expected = name === 'Interrupted' ? 130 : ERRORS[name].class === 'user' ? 2 : 4
    expect(exitCodeOfError(new LoopError(name))).toBe(expected)
  })
})

describe('--output', () => {
  test('text by default; a file leaves text on stdout; several files', () => {
    expect(parseOutputs([])).toEqual({ stdout: 'text', files: [] })
    expect(parseOutputs(['json'])).toEqual({ stdout: 'json', files: [] })
    expect(parseOutputs(['sarif=a.sarif', 'markdown=/x/b=c.md', 'json'], '/w')).toEqual({
      stdout: 'json',
      files: [
        { format: 'sarif', path: '/w/a.sarif' },
        { format: 'markdown', path: '/x/b=c.md' },
      ],
    })
  })
  test.each([[['xml']], [['']], [['json=']], [['json', 'sarif']]])('%j is refused', (values) => {
    expect(() => parseOutputs(values)).toThrow(expect.objectContaining({ name: 'BadRequest' }))
  })
})

describe('answers from flags', () => {
  const finding = (id: string, severity: 'warning' | 'info' = 'warning', action: 'auto-fix' | 'ask-user' = 'auto-fix') => ({
    id,
    severity,
    action,
  })
  const open = [
    finding('f-0000000001'),
    finding('f-0000000002'),
    finding('f-0000000003', 'info', 'ask-user'),
    finding('f-0000000004', 'info'),
  ]
  test.each([
    [{ approve: true }, { kind: 'approve' }],
    [{ skip: true }, { kind: 'skip' }],
    [{ abort: true }, { kind: 'abort' }],
  ])('%j', (flags, answer) => {
    expect(answerOf(flags, open)).toEqual(answer)
  })
  test('fix with ids, notes and declined ones', () => {
    expect(
      answerOf(
        { fix: ['f-0000000001', 'f-0000000001'], decline: ['f-0000000002'], note: 'with care', noteFor: ['f-0000000001=use a = b'] },
        open,
      ),
    ).toEqual({
      kind: 'fix',
      findings: ['f-0000000001'],
      decline: ['f-0000000002'],
      note: 'with care',
      notes: { 'f-0000000001': 'use a = b' },
      add: [],
    })
  })
  test('all means the open ones that are more than information and not declined; adding alone is a fix', () => {
    expect(answerOf({ fix: ['all'], decline: ['f-0000000002'] }, open)).toMatchObject({ findings: ['f-0000000001', 'f-0000000003'] })
    expect(answerOf({ fix: ['f-0000000004', 'all'] }, open)).toMatchObject({
      findings: ['f-0000000004', 'f-0000000001', 'f-0000000002', 'f-0000000003'],
    })
    expect(answerOf({ add: ['a.ts:3:wrong'] }, open)).toMatchObject({
      kind: 'fix',
      findings: [],
      add: [{ file: 'a.ts', line: 3, text: 'wrong' }],
    })
  })
  test.each([
    [{}],
    [{ approve: true, skip: true }],
    [{ approve: true, fix: ['f-0000000001'] }],
    [{ approve: true, note: 'but' }],
    [{ skip: true, decline: ['f-0000000001'] }],
    [{ decline: ['f-0000000001'] }],
    [{ fix: ['all'], noteFor: ['no equals sign'] }],
    [{ add: ['no text'] }],
  ])('%j is refused', (flags) => {
    expect(() => answerOf(flags, open)).toThrow(expect.objectContaining({ name: 'BadDecision' }))
  })
  test.each([
    ['a.ts:12:the text: with colons', { file: 'a.ts', line: 12, text: 'the text: with colons' }],
    ['dir/a.ts:only text', { file: 'dir/a.ts', text: 'only text' }],
    ['a.ts:3:two\nlines', { file: 'a.ts', line: 3, text: 'two\nlines' }],
  ])('--add %j', (text, draft) => {
    expect(parseAdded(text)).toEqual({ rule: 'added-by-person', severity: 'error', action: 'auto-fix', ...draft })
  })
  test.each([':3:x', 'a.ts:', 'a.ts:0:x', 'a.ts: '])('--add %j is refused', (text) => {
    expect(() => parseAdded(text)).toThrow(expect.objectContaining({ name: 'BadDecision' }))
  })
})

describe('on the screen', () => {
  test('colours only on a terminal, and never with NO_COLOR', () => {
    const screen = (isTTY: boolean) => ({ write: () => true, isTTY })
    expect(paintFor(screen(true), {})('red', 'x')).toContain('\u001b[')
    expect(paintFor(screen(true), { NO_COLOR: '1' })('red', 'x')).toBe('x')
    expect(paintFor(screen(true), { TERM: 'dumb' })('red', 'x')).toBe('x')
    expect(paintFor(screen(false), {})('red', 'x')).toBe('x')
  })
  test('durations', () => {
    expect([0, 850, 4250, 59_900, 65_000, 3_600_000].map(duration)).toEqual([
      '0 ms',
      '850 ms',
      '4.3 s',
      '59.9 s',
      '1 min 05 s',
      '60 min 00 s',
    ])
  })
})

describe('flags', () => {
  test('ages', () => {
    expect(['0', '30d', '12h', '90m', '4w'].map(parseAge)).toEqual([0, 2_592_000_000, 43_200_000, 5_400_000, 2_419_200_000])
    for (const bad of ['', 'd', '-1d', '1y', '1.5d', '999999d'])
      expect(() => parseAge(bad)).toThrow(expect.objectContaining({ name: 'BadRequest' }))
  })
  test('versions are compared by number', () => {
    expect([atLeast('2.39.5', '2.39'), atLeast('2.100.0', '2.39'), atLeast('3.0', '2.39'), atLeast('2.39', '2.39')]).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect([atLeast('2.9.9', '2.39'), atLeast('', '2.39'), atLeast('1.99', '2.39')]).toEqual([false, false, false])
  })
  test('what run overrides: agents, rounds, and that nobody is asked', () => {
    expect(overridesOf({})).toEqual({})
    expect(overridesOf({ scenario: 's.yaml' })).toEqual({ agent: { reviewer: ['scripted'], fixer: ['scripted'], certifier: ['scripted'] } })
    expect(overridesOf({ agent: ['lint'], scenario: 's.yaml', rounds: '0', yes: true })).toEqual({
      agent: { reviewer: ['lint'], fixer: ['lint'], certifier: ['lint'] },
      rounds: 0,
      ask: 'never',
    })
    for (const rounds of ['', '-1', '11', '1.5', 'x'])
      expect(() => overridesOf({ rounds })).toThrow(expect.objectContaining({ name: 'BadRequest' }))
  })
})

describe('what people are told to type', () => {
  const npm = { npm_package_name: 'reviewloop', npm_lifecycle_event: 'start', INIT_CWD: '/home/ada' }
  test('is what works where they are', () => {
    expect(asTyped('Go on with `reviewloop resume`.', {})).toBe('Go on with `reviewloop resume`.')
    expect(asTyped('Go on with `reviewloop resume`.', npm)).toBe('Go on with `npm run reviewloop -- resume`.')
    expect(commandOn("/tmp/it's", 'list', {})).toBe("reviewloop list --data '/tmp/it'\\''s'")
  })
  test('paths are meant from where the command was typed', () => {
    expect(typedIn(npm, '/checkout')).toBe('/home/ada')
    expect(typedIn({ ...npm, npm_package_name: 'another' }, '/checkout')).toBe('/checkout')
    expect(typedIn({}, '/checkout')).toBe('/checkout')
  })
  test('words are quoted for the shell where they have to be', () => {
    expect(['a/b-c.d', 'a b', '$(x)', ''].map(shellWord)).toEqual(['a/b-c.d', "'a b'", "'$(x)'", "''"])
  })
})
