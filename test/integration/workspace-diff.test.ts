import { writeFile } from 'node:fs/promises'
import { afterEach, describe, expect, it } from 'vitest'
import type { DiffFile } from '../../lib/loop/diff.ts'
import { makeRepository, type TestRepository } from '../support/git-repository.ts'
import { fetchFrom, openFrom, withWorkspace } from '../support/workspaces.ts'

const opened: TestRepository[] = []
afterEach(async () => {
  for (const repository of opened.splice(0)) await repository.close()
})
const fresh = async (): Promise<TestRepository> => {
  const repository = await makeRepository()
  opened.push(repository)
  return repository
}

type Contents = Record<string, string | Uint8Array | null>
const diffOf = async (before: Contents, after: Contents, limit?: number): Promise<DiffFile[]> => {
  const repository = await fresh()
  const base = await repository.commit('base', before)
  const head = await repository.commit('head', after)
  const options = limit === undefined ? {} : { limits: { diff_bytes: limit } }
  return withWorkspace(repository, { base, head }, (workspace) => workspace.diff(), options)
}
const shape = (files: DiffFile[]) =>
  files.map(({ path, oldPath, status, omitted, hunks }) => [path, oldPath, status, omitted, hunks.length])
const added = (file: DiffFile | undefined) => file?.hunks.flatMap((hunk) => hunk.lines.filter((line) => line.kind === 'added'))
const removed = (file: DiffFile | undefined) => file?.hunks.flatMap((hunk) => hunk.lines.filter((line) => line.kind === 'removed'))

describe('the diff of a change, by real git', () => {
  it('case 1: U+2028, form feed and vertical tab stay inside their line, and later numbers hold', async () => {
    const [file] = await diffOf({ a: 'one\ntwo\n' }, { a: 'one\nx\u2028y\fz\vw\ntwo\nend\n' })
    expect(added(file)).toEqual([
      { kind: 'added', text: 'x\u2028y\fz\vw', oldLine: null, newLine: 2 },
      { kind: 'added', text: 'end', oldLine: null, newLine: 4 },
    ])
  })

  it('case 2: names that git quotes, and names with ` b/`, line ends and tabs in them', async () => {
    const names = [
      '-rf',
      ' lead',
      'a b/c b/d.md',
      'café.md',
      'new\nline',
      'quo"te',
      'ta\tb',
      '日本/語.txt',
      '$(touch x);`id`',
      '@@ -1 +1 @@',
    ]
    const before = Object.fromEntries(names.map((name) => [name, 'old\n']))
    const after = Object.fromEntries(names.map((name) => [name, `new ${name.replaceAll('\n', '')}\n`]))
    const files = await diffOf(before, after)
    expect(files.map((file) => file.path).toSorted()).toEqual(names.toSorted())
    for (const file of files) expect(added(file)?.[0]?.text).toBe(`new ${file.path.replaceAll('\n', '')}`)
  })

  it('case 2: a name with a backslash, or that is not UTF-8, is disclosed and not passed over', async () => {
    const repository = await fresh()
    const base = await repository.commit('base')
    await repository.write('back\\slash', 'x\n')
    await writeFile(Buffer.concat([Buffer.from(`${repository.path}/`), Buffer.from([0x66, 0xff])]), 'x\n')
    const head = await repository.commit('head')
    const files = await withWorkspace(repository, { base, head }, (workspace) => workspace.diff())
    expect(new Set(files.map((file) => file.omitted))).toEqual(new Set(['its name holds a backslash', 'its name is not UTF-8']))
  })

  it('case 3: a count left out is 1', async () => {
    const [file] = await diffOf({ a: 'one\n' }, { a: 'one\ntwo\n' })
    expect(file?.hunks[0]).toMatchObject({ oldStart: 1, oldCount: 1, newStart: 1, newCount: 2 })
  })

  it('case 4: deletions at the end, a deleted file, a rename with edits', async () => {
    const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`)
    const text = `${lines.join('\n')}\n`
    const files = await diffOf(
      { cut: text, gone: 'x\n', old: text.replaceAll('line', 'row') },
      {
        cut: `${lines.slice(0, 30).join('\n')}\n`,
        gone: null,
        old: null,
        renamed: text.replaceAll('line', 'row').replace('row 5\n', 'row five\n'),
      },
    )
    expect(shape(files)).toEqual([
      ['cut', null, 'modified', null, 1],
      ['gone', null, 'deleted', null, 1],
      ['renamed', 'old', 'renamed', null, 1],
    ])
    expect(removed(files[0])?.map((line) => line.oldLine)).toEqual([31, 32, 33, 34, 35, 36, 37, 38, 39, 40])
    expect(files[1]).toMatchObject({ oldMode: '100644', newMode: null })
    expect(added(files[2])).toEqual([{ kind: 'added', text: 'row five', oldLine: null, newLine: 6 }])
  })

  it('case 5: binary and UTF-16 files are named with the reason, a change of mode alone is one', async () => {
    const repository = await fresh()
    const utf16 = Buffer.from('\ufeffhello\n', 'utf16le')
    const base = await repository.commit('base', { 'run.sh': 'x\n', 'empty.txt': 'x\n' })
    await repository.write('run.sh', 'x\n', { executable: true })
    const head = await repository.commit('head', { 'image.png': Buffer.from([1, 0, 2, 0]), 'wide.txt': utf16, 'empty.txt': '' })
    const files = await withWorkspace(repository, { base, head }, (workspace) => workspace.diff())
    expect(shape(files)).toEqual([
      ['empty.txt', null, 'modified', null, 1],
      ['image.png', null, 'added', expect.stringContaining('binary'), 0],
      ['run.sh', null, 'mode-changed', null, 0],
      ['wide.txt', null, 'added', expect.stringContaining('UTF-16'), 0],
    ])
    expect(files[2]).toMatchObject({ oldMode: '100644', newMode: '100755' })
    expect(await withWorkspace(repository, { base: head, head }, (workspace) => workspace.diff())).toEqual([])
  })

  it('no attribute of the repository hides a file from the diff', async () => {
    const [, file] = await diffOf(
      { 'a.ts': 'a\n', '.gitattributes': '' },
      { 'a.ts': 'b\n', '.gitattributes': '*.ts binary -diff diff=x\n' },
    )
    expect(file).toMatchObject({ path: 'a.ts', omitted: null })
    expect(added(file)?.[0]?.text).toBe('b')
  })

  it('case 6: line ends of CR LF stay in the text, and a missing last one is no line', async () => {
    const [file] = await diffOf({ a: 'one\r\ntwo\r\nthree' }, { a: 'one\r\nTWO\r\nthree' })
    expect(file?.hunks[0]?.lines.map((line) => line.text)).toEqual(['one\r', 'two\r', 'TWO\r', 'three'])
  })

  it('case 7: what is over the limit stands in the diff with the reason', async () => {
    const files = await diffOf({}, { 'a.txt': 'a\n', 'b.txt': 'b'.repeat(10_000), 'c.txt': 'c\n' }, 1000)
    expect(shape(files)).toEqual([
      ['a.txt', null, 'added', null, 1],
      ['b.txt', null, 'added', expect.stringContaining('limits.diff_bytes (1000 in all'), 0],
      ['c.txt', null, 'added', null, 1],
    ])
  })

  it('case 8: one line changed in a file of 10 MB is one small hunk; one huge line is whole', async () => {
    const lines = Array.from({ length: 500_000 }, (_, index) => `line number ${index}`)
    const large = `${lines.join('\n')}\n`
    const huge = `${'x'.repeat(1_000_000)}\n`
    const files = await diffOf(
      { 'huge.js': huge, 'large.txt': large },
      {
        'huge.js': `y${huge}`,
        'large.txt': large.replace('line number 250000\n', 'changed\n'),
      },
    )
    expect(added(files[0])?.[0]?.text).toHaveLength(1_000_001)
    expect(files[1]?.hunks[0]?.lines).toHaveLength(8)
    expect(added(files[1])).toEqual([{ kind: 'added', text: 'changed', oldLine: null, newLine: 250_001 }])
  })

  it('case 18: a submodule is named and not followed, wherever .gitmodules points', async () => {
    const repository = await fresh()
    const base = await repository.commit('base', { 'a.txt': 'a\n' })
    await repository.write(
      '.gitmodules',
      '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c touch% /tmp/reviewloop-owned\n\tupdate = !touch x\n',
    )
    await repository.git('add', '--force', '.gitmodules')
    await repository.git('update-index', '--add', '--cacheinfo', `160000,${base},x`)
    await repository.git('commit', '--quiet', '-m', 'submodule')
    const head = await repository.id()
    const fetched = await fetchFrom(repository.path, { base, head })
    const workspace = await openFrom(fetched)
    expect(shape(await workspace.diff())).toEqual([
      ['.gitmodules', null, 'added', null, 1],
      ['x', null, 'added', 'submodule', 0],
    ])
    expect(await workspace.files.list()).toEqual(['.gitmodules', 'a.txt'])
    expect(await workspace.changed()).toEqual([])
    await workspace.close()
  })

  it('a file that becomes a link is one change with both sides', async () => {
    const repository = await fresh()
    const base = await repository.commit('base', { a: 'text\n', z: 'z\n' })
    await repository.remove('a')
    await repository.write('a', '/etc/passwd', { link: true })
    const head = await repository.commit('head', { z: 'Z\n' })
    const files = await withWorkspace(repository, { base, head }, (workspace) => workspace.diff())
    expect(files.map((file) => [file.path, removed(file)?.[0]?.text, added(file)?.[0]?.text])).toEqual([
      ['a', 'text', '/etc/passwd'],
      ['z', 'z', 'Z'],
    ])
    expect(files[0]).toMatchObject({ oldMode: '100644', newMode: '120000', status: 'modified' })
  })
})
