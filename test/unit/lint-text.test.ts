import { describe, expect, it } from 'vitest'
import { applyEdits, compatible, moved } from '../../lib/agents/lint/edits.ts'
import { kindOf } from '../../lib/agents/lint/kinds.ts'
import { gitLineStarts, lineAt, lineStarts, offsetOf } from '../../lib/agents/lint/lines.ts'
import { bytesOf, sourceText } from '../../lib/agents/lint/source-text.ts'
import { hasDirective, holdsMask, maskDirectives } from '../../lib/agents/lint/suppressions.ts'

const edit = (start: number, end: number, text: string) => ({ start, end, text })

describe('edits', () => {
  it('are applied at their places', () => {
    expect(applyEdits('abcdef', [edit(0, 1, 'X'), edit(2, 2, 'Y'), edit(4, 6, '')])).toBe('XbYcd')
  })

  it('that touch an earlier group are left for later, whole', () => {
    const first = { edits: [edit(0, 3, 'x')] }
    const overlapping = { edits: [edit(5, 6, 'y'), edit(2, 4, '')] }
    const same = { edits: [edit(0, 3, 'x')] }
    const free = { edits: [edit(3, 4, 'z')] }
    expect(compatible([first, overlapping, same, free])).toEqual({ chosen: [first, free], edits: [edit(0, 3, 'x'), edit(3, 4, 'z')] })
  })

  it('move the places after them, and take out those within what is deleted', () => {
    const edits = [edit(2, 4, ''), edit(6, 7, 'long')]
    expect([0, 2, 3, 4, 6, 8].map((offset) => moved(offset, edits))).toEqual([0, null, null, 2, 4, 9])
  })
})

describe('lines', () => {
  it('start where the tool says and are counted as git does', () => {
    const text = 'a\u2028b\r\nc\n'
    const starts = lineStarts(text, /\r\n|[\n\u2028]/gu)
    expect(starts).toEqual([0, 2, 5, 7])
    expect(lineAt(gitLineStarts(text), offsetOf(starts, 3, 0, text.length))).toBe(2)
    expect(lineAt(gitLineStarts(text), text.length)).toBe(2)
    expect(offsetOf(starts, 99, 99, text.length)).toBe(text.length)
  })
})

describe('kinds', () => {
  it.each([
    ['src/a.mts', { kind: 'ts' }],
    ['a.d.ts', { kind: 'dts' }],
    ['a.JSX', { kind: 'js' }],
    ['tsconfig.build.json', { kind: 'jsonc' }],
    ['.vscode/settings.json', { kind: 'jsonc' }],
    ['data.json', { kind: 'json' }],
    ['yarn.lock', { skip: 'generated' }],
    ['pnpm-lock.yaml', { skip: 'generated' }],
    ['a.min.css', { skip: 'generated' }],
    ['a.constructor', { skip: 'no linter for .constructor files' }],
    ['Makefile', { skip: 'no linter for files of this kind' }],
  ])('%s', (path, expected) => {
    expect(kindOf(path)).toEqual(expected)
  })
})

describe('text', () => {
  it('keeps its byte order mark apart and gets it back', () => {
    const source = sourceText(new Uint8Array([0xef, 0xbb, 0xbf, 0x61]))
    expect(source).toEqual({ text: 'a', bom: true })
    expect([...bytesOf({ text: 'a', bom: true })]).toEqual([0xef, 0xbb, 0xbf, 0x61])
  })

  it('has lines of 20,000 characters, and of no more', () => {
    const bytes = (length: number) => new TextEncoder().encode(`a\n${'x'.repeat(length)}`)
    expect(sourceText(bytes(20_000))).toHaveProperty('text')
    expect(sourceText(bytes(20_001))).toHaveProperty('skip')
  })
})

describe('suppressions', () => {
  it('lose their force in comments, and strings stay as they are', () => {
    const text = 'é = "# noqa"  # NoQA: F401 ruff: x\n'
    const start = Buffer.byteLength(text.slice(0, text.indexOf('# NoQA')))
    const masked = maskDirectives(text, `[\n    String 5..13,\n    Comment ${start}..${Buffer.byteLength(text) - 1},\n]`)
    expect(masked).toBe('é = "# noqa"  # n0qa: F401 r0ff: x\n')
    expect([hasDirective(text), hasDirective('x = 1'), holdsMask(masked), holdsMask(text)]).toEqual([true, false, true, false])
  })
})
