import { PassThrough } from 'node:stream'
import { describe, expect, test } from 'vitest'
import { askPerson, questionLines } from '../../bin/terminal/ask.ts'
import type { TrackedFinding } from '../../lib/loop/finding.ts'
import type { RunItem } from '../../lib/loop/items.ts'

const plain = (_style: unknown, text: string) => text
const finding = (id: string, more: Partial<TrackedFinding> = {}): TrackedFinding => ({
  id,
  rule: 'r',
  severity: 'warning',
  action: 'ask-user',
  file: 'a.ts',
  line: 3,
  text: 'what is \u001b[31mwrong',
  inDiff: true,
  status: 'open',
  leftUnfixed: 0,
  returned: false,
  history: [{ event: 'raised', turn: 1, round: 0 }],
  ...more,
})
const open = [finding('f-0000000001'), finding('f-0000000002'), finding('f-0000000003', { severity: 'info', action: 'no-op' })]
const run = (roundsLeft = 1) =>
  ({
    runId: 'r-0123456789abcdef',
    question: { id: 'q1', why: 'ask-user', record: 'k', open: 2, roundsLeft, reason: null, askedAt: '', expiresAt: '2030-01-01T00:00:00Z' },
  }) as RunItem

/** Types one line whenever it is asked for one. */
const typing = (...lines: string[]) => {
  const input = new PassThrough()
  const output = new PassThrough()
  let text = ''
  output.on('data', (chunk) => {
    text += String(chunk)
    if (/: (\u001b\[\d*[A-Z])*$/.test(String(chunk)) && lines.length > 0) setImmediate(() => input.write(`${lines.shift()}\n`))
  })
  return { keyboard: { input, output }, text: () => text }
}
const ask = (keyboard: { input: PassThrough; output: PassThrough }, signal = new AbortController().signal, roundsLeft = 1) =>
  askPerson(keyboard, async () => open, plain)(run(roundsLeft), signal)

describe('the question', () => {
  test('says why, what is open and how long, and hands no control character on', () => {
    const text = questionLines(run(), open, plain).join('\n')
    for (const part of ['r-0123456789abcdef', 'f-0000000001', 'a.ts:3', 'and 1 for information', 'Rounds left: 1', '2030-01-01'])
      expect(text).toContain(part)
    expect(text).not.toContain('f-0000000003')
    expect(text).not.toContain('\u001b')
  })
})

describe('the answer', () => {
  test.each([
    ['a', { kind: 'approve' }],
    ['skip', { kind: 'skip' }],
    ['b', { kind: 'abort' }],
    ['l', null],
  ])('%s', async (line, answer) => {
    expect(await ask(typing(line).keyboard)).toEqual(answer)
  })
  test('what is none is asked again', async () => {
    expect(await ask(typing('', 'what?', 'A').keyboard)).toEqual({ kind: 'approve' })
  })
  test('fix all with a note; fix one', async () => {
    expect(await ask(typing('f', '', 'with care').keyboard)).toMatchObject({
      kind: 'fix',
      findings: ['f-0000000001', 'f-0000000002'],
      note: 'with care',
    })
    expect(await ask(typing('f', 'f-0000000002', '').keyboard)).toEqual({
      kind: 'fix',
      findings: ['f-0000000002'],
      decline: [],
      notes: {},
      add: [],
    })
  })
  test('no fix where no round is left', async () => {
    const { keyboard, text } = typing('f', 's')
    expect(await ask(keyboard, undefined, 0)).toEqual({ kind: 'skip' })
    expect(text()).toContain('No round is left')
  })
  test('the end of the input leaves it parked', async () => {
    const { keyboard } = typing()
    setTimeout(() => keyboard.input.end(), 20)
    expect(await ask(keyboard)).toBeNull()
  })
  test('an answer from elsewhere takes the question back', async () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 20)
    expect(await ask(typing().keyboard, controller.signal)).toBeNull()
  })
})
