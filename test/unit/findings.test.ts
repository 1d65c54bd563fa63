import { describe, expect, test } from 'vitest'
import { finding } from '../../lib/loop/finding.ts'
import { isBlocking, isIgnored, notReviewed } from '../../lib/loop/finding-policy.ts'
import { checkFindings, lineTextOf, normalisePath } from '../../lib/loop/findings.ts'
import { policy } from '../../lib/loop/policy.ts'
import { aDiffFile, aDraft, aFinding, checked } from '../support/findings.ts'

const FILE = 'one\ntwo\nthree\nfour\nfive\n'

describe('ids', () => {
  test('stay when lines above move and white space changes', () => {
    const before = checked([aDraft({ line: 2 })], { 'src/a.ts': 'a\n  eval(x)\n' })
    const after = checked([aDraft({ line: 4 })], { 'src/a.ts': 'a\nb\nc\neval(x)  \n' })
    expect(after.findings[0]?.id).toBe(before.findings[0]?.id)
    expect(before.findings[0]?.id).toMatch(/^f-[0-9a-f]{10}$/)
  })

  test('differ by file, rule, text of the line, and place among equal lines', () => {
    const contents = { 'a.ts': 'eval(x)\neval(y)\neval(x)\n', 'b.ts': 'eval(x)\n' }
    const drafts = [
      aDraft({ file: 'a.ts', line: 1 }),
      aDraft({ file: 'a.ts', line: 2 }),
      aDraft({ file: 'a.ts', line: 3 }),
      aDraft({ file: 'b.ts', line: 1 }),
      aDraft({ file: 'b.ts', line: 1, rule: 'other' }),
      aDraft({ file: 'b.ts' }),
    ]
    expect(new Set(checked(drafts, contents).findings.map(({ id }) => id)).size).toBe(drafts.length)
  })

  test('count equal lines by their order in the file, not in the answer', () => {
    const contents = { 'src/a.ts': 'x\nx\n' }
    const [first, second] = checked([aDraft({ line: 1 }), aDraft({ line: 2 })], contents).findings
    const turned = checked([aDraft({ line: 2 }), aDraft({ line: 1 })], contents).findings
    expect(turned.map(({ id }) => id)).toEqual([second?.id, first?.id])
  })
})

describe('paths', () => {
  test.each([
    ['./src//a.ts', 'src/a.ts'],
    ['src\\a.ts', 'src/a.ts'],
    ['src/./a.ts', 'src/a.ts'],
    ['.github/x.yml', '.github/x.yml'],
    ['a/.gitignore', 'a/.gitignore'],
    ['a/..b', 'a/..b'],
  ])('%s is %s', (given, path) => {
    expect(normalisePath(given)).toEqual({ path })
  })

  test.each([
    ['/etc/passwd', 'absolute'],
    ['\\\\server\\share', 'absolute'],
    ['C:\\x', 'absolute'],
    ['c:/x', 'absolute'],
    ['~/x', 'absolute'],
    ['../x', 'climbs'],
    ['a/../../x', 'climbs'],
    ['a\\..\\x', 'climbs'],
    ['.git/config', '.git'],
    ['sub/.GIT/config', '.git'],
    ['.git./config', '.git'],
    ['GIT~1/config', '.git'],
    ['src/a.ts\0.png', 'NUL'],
    ['./', 'no file'],
    ['', 'no file'],
    ['src/none.ts', 'no such file'],
  ])('%j is refused', (file, reason) => {
    const { findings, refused } = checked([aDraft({ file })], { 'src/a.ts': FILE })
    expect(findings).toEqual([])
    expect(refused).toEqual([{ draft: aDraft({ file }), reason: expect.stringContaining(reason) }])
  })

  test('a symlink is refused', () => {
    const context = { diff: [], files: () => true, isSymlink: (path: string) => path === 'src/a.ts', lineText: () => 'x' }
    expect(checkFindings([aDraft(), aDraft({ file: 'src/b.ts' })], context)).toMatchObject({
      findings: [{ file: 'src/b.ts' }],
      refused: [{ draft: { file: 'src/a.ts' }, reason: 'the path is a symlink' }],
    })
  })

  test('a deleted file may be spoken of, and a renamed one by its old name', () => {
    const diff = [aDiffFile('gone.ts', [], { status: 'deleted' }), aDiffFile('new.ts', [1], { status: 'renamed', oldPath: 'old.ts' })]
    const { findings, refused } = checked(
      [aDraft({ file: 'gone.ts', line: 3 }), aDraft({ file: 'old.ts', line: 1 })],
      { 'new.ts': FILE },
      diff,
    )
    expect(refused).toEqual([])
    expect(findings).toMatchObject([
      { file: 'gone.ts', inDiff: false },
      { file: 'new.ts', line: 1, inDiff: true },
    ])
    expect(findings[0]).not.toHaveProperty('line')
  })
})

describe('lines', () => {
  const diff = [aDiffFile('src/a.ts', [2, 4])]
  const only = (line?: number, endLine?: number) =>
    checked([aDraft({ ...(line !== undefined && { line }), ...(endLine !== undefined && { endLine }) })], { 'src/a.ts': FILE }, diff)
      .findings[0]

  test('on an added line stay', () => {
    expect(only(2)).toMatchObject({ line: 2, inDiff: true })
    expect(only(3, 5)).toMatchObject({ line: 3, endLine: 5, inDiff: true })
  })

  test('end before start are swapped, past the end clamped', () => {
    expect(only(4, 2)).toMatchObject({ line: 2, endLine: 4, inDiff: true })
    expect(only(4, 9_007_199_254_740_991)).toMatchObject({ line: 4, endLine: 5, inDiff: true })
    expect(only(undefined, 4)).toMatchObject({ line: 4, inDiff: true })
    expect(only(5, 5)).not.toHaveProperty('endLine')
  })

  test('outside the diff make it a finding of the whole file that still says where', () => {
    expect(only(3)).toEqual(expect.objectContaining({ inDiff: false, text: 'eval runs what it is given. (line 3)' }))
    expect(only(3)).not.toHaveProperty('line')
    expect(only(3)?.id).not.toBe(only(5)?.id)
  })

  test('past the end of the file make it a finding of the whole file', () => {
    expect(only(6)).not.toHaveProperty('line')
    expect(only(900)).toMatchObject({ inDiff: false, id: only()?.id })
  })

  test('split on LF alone', () => {
    const lineText = lineTextOf(new Map([['a', 'x\u2028y\fz\vw\r\nlast']]))
    expect([lineText('a', 1), lineText('a', 2), lineText('a', 3), lineText('b', 1)]).toEqual(['x\u2028y\fz\vw\r', 'last', null, null])
  })
})

describe('what comes out', () => {
  test('fits the schema, with ask-user for a missing action and the text redacted', () => {
    const { action: _, ...draft } = aDraft({ text: `a key ghp_${'x'.repeat(36)}\u001b[31m`, line: 1 })
    const [found] = checked([draft], { 'src/a.ts': FILE }).findings
    expect(found).toMatchObject({ action: 'ask-user', text: 'a key [redacted:github-token][31m' })
    expect(finding.safeParse(found).success).toBe(true)
  })

  test('of two with one id the more severe is kept, with both texts', () => {
    const drafts = [
      aDraft({ line: 1, severity: 'info', text: 'first' }),
      aDraft({ line: 1, text: 'second' }),
      aDraft({ line: 1, severity: 'warning', text: 'first' }),
    ]
    expect(checked(drafts, { 'src/a.ts': FILE }).findings).toMatchObject([{ severity: 'error', text: 'second\nfirst' }])
  })
})

describe('the policy', () => {
  const files = [
    { file: 'big.sql', reason: 'over 512 KB' },
    { file: 'vendor/x/y.js', reason: 'binary' },
  ]
  test('makes a finding of what nobody looked at, which blocks or is only told', () => {
    const ignore = ['vendor/']
    expect(notReviewed(files, { ignore, unread: 'block' })).toEqual([
      {
        id: expect.stringMatching(/^f-[0-9a-f]{10}$/) as string,
        rule: 'not-reviewed',
        severity: 'warning',
        action: 'ask-user',
        file: 'big.sql',
        text: 'Not reviewed: over 512 KB',
        inDiff: false,
      },
    ])
    expect(
      notReviewed(
        [
          { file: 'a\\b.sql', reason: 'x' },
          { file: '~/c.sql', reason: 'x' },
        ],
        { ignore, unread: 'block' },
      ),
    ).toHaveLength(2)
    expect(notReviewed(files, { ignore, unread: 'disclose' })).toMatchObject([{ severity: 'info', action: 'no-op' }])
  })

  test.each([
    ['**/*.min.js', 'a/b.min.js', true],
    ['**/*.min.js', '.hidden/b.min.js', true],
    ['dist/', 'dist/.cache/x', true],
    ['dist/', 'src/dist.ts', false],
    ['*.md', 'docs/a.md', false],
  ])('%s on %s: %s', (glob, path, ignored) => {
    expect(isIgnored({ ignore: [glob] }, path)).toBe(ignored)
  })

  test('ignores nothing where it says nothing', () => {
    expect(isIgnored(policy.parse({}), 'a')).toBe(false)
  })

  test.each([
    ['error', 'auto-fix', true],
    ['warning', 'no-op', true],
    ['info', 'auto-fix', false],
    ['info', 'ask-user', true],
  ] as const)('%s, %s: blocks %s', (severity, action, blocks) => {
    const open = { ...aFinding('1', { severity, action }), status: 'open', leftUnfixed: 0, returned: false, history: [] } as const
    expect(isBlocking(policy.parse({}), open)).toBe(blocks)
    expect(isBlocking(policy.parse({}), { ...open, status: 'declined' })).toBe(false)
    expect(isBlocking(policy.parse({ block_on: [] }), open)).toBe(action === 'ask-user')
  })
})
