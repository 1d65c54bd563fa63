/** Places on lines that people see: where a comment may stand, which line a line was, what a fix is as a suggested change. */
import { describe, expect, it } from 'vitest'
import type { DiffFile } from '../../lib/loop/diff.ts'
import { lineBefore, standsIn, suggestionsOf } from '../../lib/loop/placing.ts'
import { patchParser } from '../../lib/workspace/diff-patch.ts'

/** A changed file from the hunks of a unified diff. */
const changed = (path: string, hunks: string, change: Partial<DiffFile> = {}): DiffFile => {
  const parser = patchParser(1_000_000)
  parser.push(Buffer.from(`diff --git a/${path} b/${path}\nindex 1..2 100644\n--- a/${path}\n+++ b/${path}\n${hunks}`))
  const [section] = parser.end()
  return { path, oldPath: null, status: 'modified', oldMode: null, newMode: null, omitted: null, hunks: section?.hunks ?? [], ...change }
}

const CHANGE = changed('a.js', '@@ -1,3 +1,8 @@\n one\n+two\n+three\n+four\n+five\n+six\n seven\n eight\n@@ -20,2 +25,3 @@\n x\n+y\n z\n')

describe('a comment', () => {
  const stands = standsIn([CHANGE])
  it.each([
    [1, 1, true],
    [2, 8, true],
    [8, 9, false],
    [9, 9, false],
    [24, 25, false],
    [27, 27, true],
    [28, 28, false],
    [5, 4, false],
  ])('on lines %i to %i may stand on the diff: %s', (start, end, may) => {
    expect(stands({ file: 'a.js', start, end })).toBe(may)
  })
  it('may not stand in a file that did not change', () => {
    expect(stands({ file: 'b.js', start: 1, end: 1 })).toBe(false)
  })
})

describe('the line that a line was', () => {
  // Two lines are taken out, one is put in, one is another.
  const fixes = [changed('a.js', '@@ -3,4 +3,2 @@\n three\n-four\n-five\n six\n@@ -10,3 +8,4 @@\n ten\n-eleven\n+eleven!\n+new\n twelve\n')]
  const before = lineBefore(fixes)
  it.each([
    [1, 1],
    [3, 3],
    [4, 6],
    [5, 7],
    [7, 9],
    [8, 10],
    [9, null],
    [10, null],
    [11, 12],
    [12, 13],
  ])('of line %i is %s', (line, was) => {
    expect(before('a.js', line)).toBe(was)
  })
  it('is the same in a file that was not fixed, and unknown in one that is new or was not read', () => {
    expect(before('b.js', 7)).toBe(7)
    expect(lineBefore([{ ...fixes[0]!, status: 'added' }])('a.js', 3)).toBeNull()
    expect(lineBefore([{ ...fixes[0]!, omitted: 'binary' }])('a.js', 3)).toBeNull()
  })
  it('counts a hunk that has no lines left', () => {
    const cut = lineBefore([changed('a.js', '@@ -3,2 +2,0 @@\n-three\n-four\n')])
    expect([cut('a.js', 2), cut('a.js', 3)]).toEqual([2, 5])
  })
})

describe('a fix as a suggested change', () => {
  const suggested = (hunks: string, change: Partial<DiffFile> = {}) =>
    suggestionsOf({ head: [CHANGE], standing: [], fixes: [changed('a.js', hunks, change)] })

  it('replaces the lines that it changes, and takes a neighbour along where it only adds', () => {
    expect(suggested('@@ -2,3 +2,2 @@\n two\n-three\n-four\n+3 and 4\n')).toEqual([{ file: 'a.js', start: 3, end: 4, lines: ['3 and 4'] }])
    expect(suggested('@@ -2,2 +2,1 @@\n two\n-three\n')).toEqual([{ file: 'a.js', start: 3, end: 3, lines: [] }])
    expect(suggested('@@ -2,2 +2,3 @@\n two\n+more\n three\n')).toEqual([{ file: 'a.js', start: 2, end: 2, lines: ['two', 'more'] }])
    expect(suggested('@@ -1,1 +1,2 @@\n+first\n one\n')).toEqual([{ file: 'a.js', start: 1, end: 1, lines: ['first', 'one'] }])
  })
  it('is one a run of changed lines', () => {
    const two = suggested('@@ -2,5 +2,5 @@\n-two\n+2\n three\n four\n-five\n+5\n six\n')
    expect(two.map(({ start, lines }) => [start, ...lines])).toEqual([
      [2, '2'],
      [5, '5'],
    ])
  })
  it.each([
    ['off the lines of the change', '@@ -12,1 +12,1 @@\n-a\n+b\n', {}],
    ['of a new file', '@@ -2,1 +2,1 @@\n-two\n+2\n', { status: 'added' }],
    ['of a file that was not read', '@@ -2,1 +2,1 @@\n-two\n+2\n', { omitted: 'too large' }],
    ['with another end of line', '@@ -2,1 +2,1 @@\n-two\n+2\r\n', {}],
    ['with a sign that turns the reading order around', '@@ -2,1 +2,1 @@\n-two\n+\u202e2\n', {}],
    ['with a secret', '@@ -2,1 +2,1 @@\n-two\n+ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaa\n', {}],
    ['of a hundred lines and more', `@@ -2,1 +2,101 @@\n-two\n${'+2\n'.repeat(101)}`, {}],
  ])('is none %s', (_why, hunks, change) => {
    expect(suggested(hunks, change as Partial<DiffFile>)).toEqual([])
  })
})
