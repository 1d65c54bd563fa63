import { describe, expect, it } from 'vitest'
import { parseCommand } from '../../lib/loop/comment-command.ts'

const [A, B, C] = ['f-0000000001', 'f-0000000002', 'f-0000000003']

describe('a comment', () => {
  it.each([
    ['thanks, looks good'],
    ['please write /reviewloop approve'],
    ['> /reviewloop approve'],
    ['```\n/reviewloop approve\n```'],
    ['I say\n/reviewloop approve'],
    ['/reviewlooper approve'],
    [''],
  ])('is no command unless its first line begins with one: %j', (text) => {
    expect(parseCommand(text)).toBeNull()
  })

  it.each(['run', 'abort'] as const)('`/reviewloop %s` is one', (kind) => {
    expect(parseCommand(`\n/reviewloop ${kind}  \r\nthank you`)).toEqual({ kind })
  })

  it.each(['approve', 'skip'] as const)('`/reviewloop %s` is one, and may say what is not to be raised again', (kind) => {
    expect(parseCommand(`/reviewloop ${kind}`)).toEqual({ kind, decline: [] })
    expect(parseCommand(`/reviewloop ${kind}\ndecline ${A}, ${B}\ndecline ${A}`)).toEqual({ kind, decline: [A, B] })
  })

  it.each(['/reviewloop fix', '/reviewloop fix all'])('%j means all that is open', (text) => {
    expect(parseCommand(text)).toMatchObject({ kind: 'fix', findings: [], decline: [], note: null, notes: {}, add: [] })
  })

  it('to fix names findings, declines, notes and what is to be fixed besides', () => {
    const text = [
      `/reviewloop fix ${A} ${B}, ${A}`,
      `${A}: use the helper`,
      `decline ${C}: it is meant so`,
      'add src/a.ts:12: the timer is never cleared',
      'add docs/x.md: says the opposite',
      '',
      'Keep the names',
      'as they are.',
    ].join('\r\n')
    const added = { rule: 'by-person', severity: 'warning', action: 'auto-fix' }
    expect(parseCommand(text)).toEqual({
      kind: 'fix',
      findings: [A, B],
      decline: [C],
      note: 'Keep the names\nas they are.',
      notes: { [A]: 'use the helper', [C]: 'it is meant so' },
      add: [
        { ...added, file: 'src/a.ts', line: 12, text: 'the timer is never cleared' },
        { ...added, file: 'docs/x.md', text: 'says the opposite' },
      ],
    })
  })

  it.each([
    ['/reviewloop', 'write `/reviewloop run`'],
    ['/reviewloop merge', 'write `/reviewloop run`'],
    ['/reviewloop approve everything', 'takes nothing more'],
    ['/reviewloop fix the rest', 'no id of a finding'],
    [`/reviewloop fix ${A}\ndecline that one`, 'no id of a finding'],
  ])('%j is refused, and says why', (text, why) => {
    expect(() => parseCommand(text)).toThrow(why)
  })
})
