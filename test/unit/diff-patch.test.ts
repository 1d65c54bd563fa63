import { describe, expect, it } from 'vitest'
import { patchParser } from '../../lib/workspace/diff-patch.ts'
import { parseRaw } from '../../lib/workspace/diff-raw.ts'

const parse = (text: string, budget = 1_000_000, size = 7) => {
  const parser = patchParser(budget)
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) parser.push(bytes.subarray(at, at + size))
  return parser.end()
}
const header = (name: string): string => `diff --git a/${name} b/${name}\nindex 1..2 100644\n--- a/${name}\n+++ b/${name}\n`

describe('the text of a diff', () => {
  it('case 1: splits lines on LF alone', () => {
    const [section] = parse(`${header('a')}@@ -1,2 +1,3 @@\n one\n+x\u2028y\u2029z\f\v\u0085\r\n two\n`)
    expect(section?.hunks[0]?.lines).toEqual([
      { kind: 'context', text: 'one', oldLine: 1, newLine: 1 },
      { kind: 'added', text: 'x\u2028y\u2029z\f\v\u0085\r', oldLine: null, newLine: 2 },
      { kind: 'context', text: 'two', oldLine: 2, newLine: 3 },
    ])
  })

  it('case 3: a count left out is 1', () => {
    const [section] = parse(`${header('a')}@@ -1 +1,2 @@ text\n-a\n+b\n+c\n`)
    expect(section?.hunks).toMatchObject([{ oldStart: 1, oldCount: 1, newStart: 1, newCount: 2 }])
    expect(section?.hunks[0]?.lines.map((line) => line.kind)).toEqual(['removed', 'added', 'added'])
  })

  it('case 4: a last hunk of deletions only is kept', () => {
    const [first, second] = parse(`${header('a')}@@ -1,2 +1 @@\n one\n-two\n@@ -9,2 +7,0 @@\n-x\n-y\n${header('b')}@@ -0,0 +1 @@\n+z\n`)
    expect(first?.hunks.map((hunk) => hunk.lines.length)).toEqual([2, 2])
    expect(first?.hunks[1]?.lines.map((line) => line.oldLine)).toEqual([9, 10])
    expect(second?.hunks).toHaveLength(1)
  })

  it('takes lines of a hunk that look like headers for lines', () => {
    const [section, ...others] = parse(
      `${header('a')}@@ -1,4 +1,5 @@\n-diff --git a/x b/x\n--- a/x\n-@@ -1 +1 @@\n+diff --git a/y b/y\n+++ b/y\n+@@ -9 +9 @@\n+Binary files a and b differ\n end\n`,
    )
    expect(others).toEqual([])
    expect(section?.binary).toBe(false)
    expect(section?.hunks[0]?.lines.map((line) => line.text)).toEqual([
      'diff --git a/x b/x',
      '-- a/x',
      '@@ -1 +1 @@',
      'diff --git a/y b/y',
      '++ b/y',
      '@@ -9 +9 @@',
      'Binary files a and b differ',
      'end',
    ])
  })

  it('case 6: the marks of a missing last line end are no lines', () => {
    const [section] = parse(
      `${header('a')}@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n${header('b')}@@ -1 +1 @@\n-c\n+d\n`,
    )
    expect(section?.hunks[0]?.lines.map((line) => line.text)).toEqual(['a', 'b'])
  })

  it('leaves out what is over the budget, and goes on behind it', () => {
    const text = `${header('a')}@@ -0,0 +1 @@\n+small\n${header('b')}@@ -0,0 +1,2 @@\n+${'x'.repeat(5000)}\n+y\n${header('c')}@@ -0,0 +1 @@\n+last\n`
    for (const size of [1, 7, 100_000]) {
      const sections = parse(text, 100, size)
      expect(sections.map((section) => [section.tooLarge, section.hunks.length])).toEqual([
        [false, 1],
        [true, 0],
        [false, 1],
      ])
      expect(sections[1]?.bytes).toBe(5005)
      expect(sections[2]?.hunks[0]?.lines[0]?.text).toBe('last')
    }
  })

  it('gives the same whatever the chunks are', () => {
    const text = `${header('a')}@@ -1,2 +1,2 @@\n é\u2028\n-a\n+b\n${header('b')}Binary files a/b and b/b differ\n`
    const whole = parse(text, 1000, 100_000)
    for (let size = 1; size < 40; size++) expect(parse(text, 1000, size)).toEqual(whole)
    expect(whole[1]?.binary).toBe(true)
  })
})

describe('the list of changes', () => {
  it('case 2: takes names as they are, with line ends, quotes and ` b/` in them', () => {
    const id = 'a'.repeat(40)
    const bytes = `:100644 100755 ${id} ${id} M\0café "x" b/y\n.md\0:100644 100644 ${id} ${id} R097\0old\tname\0new name\0:000000 100644 ${id} ${id} A\0x\0`
    expect(parseRaw(Buffer.from(bytes))).toMatchObject([
      { status: 'M', path: 'café "x" b/y\n.md', oldPath: null, oldMode: '100644', newMode: '100755' },
      { status: 'R', path: 'new name', oldPath: 'old\tname' },
      { status: 'A', path: 'x', oldMode: null },
    ])
  })

  it('says of names that the tools cannot take why', () => {
    const record = (name: Buffer): Buffer =>
      Buffer.concat([Buffer.from(`:000000 100644 ${'0'.repeat(40)} ${'1'.repeat(40)} A\0`), name, Buffer.from('\0')])
    const [bytes, backslash] = parseRaw(Buffer.concat([record(Buffer.from([0x61, 0xff])), record(Buffer.from('a\\b'))]))
    expect(bytes?.problem).toBe('is not UTF-8')
    expect(backslash?.problem).toBe('holds a backslash')
  })
})
