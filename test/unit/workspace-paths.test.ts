import { describe, expect, it } from 'vitest'
import { checkedPath, pathProblem } from '../../lib/workspace/paths.ts'

describe('paths that the tools take', () => {
  it.each([
    'a',
    'a/b.ts',
    '.gitignore',
    '.github/x.yml',
    '.gitattributes',
    'a/.gitmodules',
    'git',
    'git~',
    'x.git',
    '...',
    'é/日本.md',
    'a b',
    '-rf',
    '~',
    'a\nb',
    'aux',
  ])('takes %j', (path) => {
    expect(pathProblem(path)).toBeNull()
    expect(checkedPath(path)).toEqual(path.split('/'))
  })

  it.each([
    '',
    '/',
    '/etc/passwd',
    '//etc/passwd',
    '/proc/self/environ',
    'C:/x',
    'c:x',
    '..',
    '../x',
    'a/../../x',
    'a/..',
    '.',
    './a',
    'a/./b',
    'a//b',
    'a/',
    'a\0b',
    '..\\x',
    'a\\..\\..\\x',
    '\\etc',
    '.git',
    '.git/config',
    'a/.git/hooks/x',
    '.GIT',
    '.Git/config',
    '.git ',
    '.git.',
    '.git . ',
    '.git::$INDEX_ALLOCATION/config',
    'git~1',
    'GIT~2/config',
    '.g\u200cit',
    '.\u200dgit',
    '.git\ufeff/config',
    'a\ufffd',
    'x'.repeat(5000),
  ])('refuses %j', (path) => {
    expect(() => checkedPath(path)).toThrow(expect.objectContaining({ name: 'OutsideWorkspace' }))
  })
})
