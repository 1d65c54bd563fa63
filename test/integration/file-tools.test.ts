import { execFileSync } from 'node:child_process'
import { chmod, mkdir, readFile, readdir, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { removeConfined } from '../../lib/workspace/confined.ts'
import { editFiles, readFiles, type EditRules } from '../../lib/workspace/file-tools.ts'
import { makeChange, temporaryFolder } from '../support/git-repository.ts'
import { withWorkspace } from '../support/workspaces.ts'

const SECRET = 'outside\n'
let folder = ''
let root = ''
let written: string[] = []
const rules: EditRules = { refusal: async () => null, onWrite: (path) => void written.push(path) }
const text = async (path: string): Promise<string> => readFile(join(root, path), 'utf8')
const outside = { name: 'OutsideWorkspace' }
const refused = { name: 'EditRefused' }

beforeEach(async () => {
  folder = await temporaryFolder()
  root = join(folder, 'root')
  written = []
  await mkdir(join(root, 'sub'), { recursive: true })
  await mkdir(join(folder, 'other'))
  await writeFile(join(folder, 'secret'), SECRET)
  await writeFile(join(folder, 'other', 'file'), SECRET)
  await writeFile(join(root, 'file'), 'inside\n')
  await writeFile(join(root, 'sub', 'file'), 'inside\n')
})
afterEach(async () => {
  expect(await readFile(join(folder, 'secret'), 'utf8')).toBe(SECRET)
  expect(await readdir(join(folder, 'other'))).toEqual(['file'])
  expect(await readFile(join(folder, 'other', 'file'), 'utf8')).toBe(SECRET)
  await rm(folder, { recursive: true })
})

const expectAllRefuse = async (path: string): Promise<void> => {
  const [files, edits] = [readFiles(root), editFiles(root, rules)]
  await expect(files.read(path)).rejects.toMatchObject(outside)
  await expect(edits.write(path, Buffer.from('x'))).rejects.toMatchObject(outside)
  await expect(edits.edit(path, 'outside', 'x')).rejects.toMatchObject(outside)
  await expect(edits.remove(path)).rejects.toMatchObject(outside)
  await expect(removeConfined(root, path)).rejects.toMatchObject(outside)
}

describe('case 12: what leads out of the workspace', () => {
  it.each([
    '../secret',
    'sub/../../secret',
    '/etc/passwd',
    '/proc/self/environ',
    'file\0',
    '..\\secret',
    '.git/config',
    '.GIT/config',
    'sub/.git/x',
    'git~1/x',
    '.g\u200cit/x',
    '',
    '.',
  ])('refuses %j in every tool', (path) => expectAllRefuse(path))

  it('refuses links, to outside and to inside, as file and as folder', async () => {
    await symlink(join(folder, 'secret'), join(root, 'absolute'))
    await symlink('../secret', join(root, 'relative'))
    await symlink('file', join(root, 'within'))
    await symlink('../other', join(root, 'folder'))
    await symlink('/proc/self', join(root, 'proc'))
    await symlink('nowhere', join(root, 'dangling'))
    for (const path of [
      'absolute',
      'relative',
      'within',
      'folder/file',
      'folder/new',
      'folder/new/new',
      'proc/environ',
      'dangling',
      'dangling/x',
    ]) {
      await expectAllRefuse(path)
    }
    expect(await readFiles(root).list()).toEqual(['file', 'sub/file'])
  })

  it('follows no link that is swapped in between', async () => {
    const [files, edits] = [readFiles(root), editFiles(root, rules)]
    const done = new AbortController()
    const whatever = (step: Promise<void>): Promise<void> => step.catch(() => undefined)
    const swap = async (): Promise<void> => {
      while (!done.signal.aborted) {
        await whatever(rename(join(root, 'sub'), join(folder, 'aside')))
        await whatever(symlink('../other', join(root, 'sub')))
        // A write may put the folder back while it is taken away.
        await whatever(rm(join(root, 'sub'), { recursive: true, force: true }))
        await whatever(rename(join(folder, 'aside'), join(root, 'sub')))
      }
    }
    const swapper = swap()
    const seen = new Set<string>()
    for (let index = 0; index < 400; index++) {
      const got = await files.read('sub/file').catch((error: Error) => error.name)
      seen.add(got === null ? 'absent' : typeof got === 'string' ? got : Buffer.from(got).toString())
      await edits.write('sub/file', Buffer.from('inside\n')).catch((error: NodeJS.ErrnoException) => seen.add(error.code ?? error.name))
    }
    done.abort()
    await swapper
    expect(seen).not.toContain(SECRET)
    expect(seen).toContain('inside\n')
  })

  it('takes pipes and folders for no files', async () => {
    execFileSync('mkfifo', [join(root, 'pipe')])
    const [files, edits] = [readFiles(root), editFiles(root, rules)]
    expect(await files.read('pipe')).toBeNull()
    expect(await files.read('sub')).toBeNull()
    expect(await files.read('file/below')).toBeNull()
    for (const path of ['pipe', 'sub', 'file/below']) await expect(edits.write(path, Buffer.from('x'))).rejects.toMatchObject(refused)
    for (const path of ['pipe', 'sub']) await expect(edits.remove(path)).rejects.toMatchObject(refused)
  })
})

describe('reading', () => {
  it('gives bytes as they are, null where there is nothing, and no more than allowed', async () => {
    const bytes = Buffer.from([0, 255, 13, 10])
    await writeFile(join(root, 'bytes'), bytes)
    const files = readFiles(root)
    expect(Buffer.from((await files.read('bytes'))!)).toEqual(bytes)
    expect(await files.read('nothing')).toBeNull()
    expect(await files.read('no/folder/nothing')).toBeNull()
    await expect(files.read('bytes', 3)).rejects.toMatchObject({ name: 'ChangeTooLarge' })
    await writeFile(join(root, 'large'), Buffer.alloc(10 * 1024 * 1024 + 1))
    await expect(files.read('large')).rejects.toMatchObject({ name: 'ChangeTooLarge' })
  })
})

describe('editing', () => {
  it('creates files with their folders, keeps the executable bit, and leaves no other file', async () => {
    const edits = editFiles(root, rules)
    await edits.write('a/b/c', Buffer.from('new\n'))
    await chmod(join(root, 'file'), 0o755)
    await edits.write('file', Buffer.from('replaced\r\n'))
    expect(await text('file')).toBe('replaced\r\n')
    expect((await stat(join(root, 'file'))).mode & 0o777).toBe(0o755)
    expect((await stat(join(root, 'a/b/c'))).mode & 0o777).toBe(0o644)
    expect(await readdir(root)).toEqual(['a', 'file', 'sub'])
    expect(await readdir(join(root, 'a/b'))).toEqual(['c'])
    expect(written).toEqual(['a/b/c', 'file'])
  })

  it('replaces the one place, and keeps every other byte', async () => {
    const edits = editFiles(root, rules)
    await writeFile(join(root, 'mixed'), Buffer.from('a\r\nb\n\xff\xfec $& d', 'latin1'))
    await edits.edit('mixed', 'c', '$& $1')
    expect(await readFile(join(root, 'mixed'), 'latin1')).toBe('a\r\nb\n\xff\xfe$& $1 $& d')
    await expect(edits.edit('mixed', '$&', 'x')).rejects.toMatchObject(refused)
    await expect(edits.edit('mixed', 'zzz', 'x')).rejects.toMatchObject(refused)
    await expect(edits.edit('mixed', '', 'x')).rejects.toMatchObject(refused)
    await expect(edits.edit('nothing', 'a', 'x')).rejects.toMatchObject(refused)
    await writeFile(join(root, 'overlap'), 'aaa')
    await expect(edits.edit('overlap', 'aa', 'x')).rejects.toMatchObject(refused)
    expect(await text('overlap')).toBe('aaa')
  })

  it('removes a file with the folders that it leaves empty', async () => {
    const edits = editFiles(root, rules)
    await edits.write('a/b/c', Buffer.from('x'))
    await edits.write('a/d', Buffer.from('x'))
    await edits.remove('a/b/c')
    expect(await readdir(join(root, 'a'))).toEqual(['d'])
    await edits.remove('a/d')
    await edits.remove('a/d')
    expect(await readdir(root)).toEqual(['file', 'sub'])
  })

  it('leaves files alone whose content is elsewhere: LFS pointers, filters, links, submodules', async () => {
    const pointer = 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n'
    const { repository, base, head } = await makeChange(
      {
        '.gitattributes': '*.psd filter=lfs diff=lfs merge=lfs -text\n',
        'a.psd': 'plain\n',
        'sub/.gitattributes': '*.x filter=other\n*.y -filter\n',
        'sub/a.x': 'x\n',
        'sub/a.y': 'y\n',
      },
      { 'pointer.bin': pointer },
    )
    await repository.write('link', 'a.psd', { link: true })
    await repository.git('add', 'link')
    await repository.git('update-index', '--add', '--cacheinfo', `160000,${base},module`)
    await repository.git('commit', '--quiet', '-m', 'more')
    await withWorkspace(repository, { base, head: await repository.id() }, async (workspace) => {
      const { edits, files } = workspace
      // Taking the attribute away first does not help.
      await edits!.write('.gitattributes', Buffer.from(''))
      for (const path of ['a.psd', 'new.psd', 'sub/a.x', 'pointer.bin', 'link', 'module', 'module/x']) {
        await expect(edits!.write(path, Buffer.from('x')), path).rejects.toMatchObject(refused)
      }
      await expect(edits!.edit('a.psd', 'plain', 'x')).rejects.toMatchObject(refused)
      await expect(edits!.remove('pointer.bin')).rejects.toMatchObject(refused)
      await edits!.write('sub/a.y', Buffer.from('z\n'))
      expect(await workspace.changed()).toEqual(['.gitattributes', 'sub/a.y'])
      expect(Buffer.from((await files.read('pointer.bin'))!).toString()).toBe(pointer)
    })
    expect(head).not.toBe('')
    await repository.close()
  })

  it('is not there for those who only read', async () => {
    const { repository, base, head } = await makeChange({ a: 'a\n' }, { a: 'b\n' })
    await withWorkspace(repository, { base, head }, async ({ edits }) => expect(edits).toBeNull(), { editable: false })
    await repository.close()
  })
})
