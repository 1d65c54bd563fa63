import { execFileSync } from 'node:child_process'
import { readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { LoopError } from '../../lib/loop/errors.ts'
import {
  changeset as changesetSchema,
  work as workSchema,
  type Changeset,
  type ChangesetCommit,
  type Workspace,
} from '../../lib/loop/workspace.ts'
import { makeChange, makeRepository, temporaryFolder } from '../support/git-repository.ts'
import { fetchFrom, openFrom } from '../support/workspaces.ts'

const closing: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of closing.splice(0).toReversed()) await one.close()
})
const kept = <T extends { close(): Promise<void> }>(one: T): T => {
  closing.push(one)
  return one
}
const failure = (promise: Promise<unknown>): Promise<LoopError> =>
  promise.then(
    () => expect.fail('it was expected to fail'),
    (error: LoopError) => error,
  )
const TIME = 1_700_000_000

/** A change on a repository with files of every kind. */
const source = async () => {
  const { repository, base, head } = await makeChange(
    { 'a.txt': 'one\ntwo\n', 'gone.txt': 'x\n', 'folder/file': 'x\n', 'crlf.txt': 'one\r\ntwo\r\nthree' },
    { 'a.txt': 'one\nTWO\n', '.gitattributes': '* text\n', '.gitignore': 'ignored.txt\nbuild/\n' },
  )
  kept(repository)
  return { repository, head, fetched: await fetchFrom(repository.path, { base, head }) }
}

const fixAll = async (workspace: Workspace): Promise<ChangesetCommit[]> => {
  await workspace.edits!.edit('a.txt', 'TWO', 'zwei')
  await workspace.edits!.remove('gone.txt')
  await workspace.edits!.write('neu/é "x"\n.md', Buffer.from('new\n'))
  const first = await workspace.commitAll('Fix one\n\nwith é and a body\n', TIME)
  await workspace.edits!.remove('folder/file')
  await workspace.edits!.write('folder', Buffer.from([0, 1, 2, 255]))
  const second = await workspace.commitAll('Fix two', 1)
  return [first!, second!]
}

describe('changesets', () => {
  it('give the same commit ids when they are applied elsewhere', async () => {
    const { head, fetched } = await source()
    const workspace = kept(await openFrom(fetched))
    const commits = await fixAll(workspace)
    const data: Changeset = changesetSchema.parse(JSON.parse(JSON.stringify({ head, commits })))
    const again = kept(await openFrom(fetched, { changeset: data }))
    expect(again.commit).toBe(commits[1]!.id)
    expect(workspace.commit).toBe(commits[1]!.id)
    expect(await again.files.list()).toEqual(await workspace.files.list())
    expect(await again.changed()).toEqual([])
    expect(await again.diff()).toEqual(await workspace.diff())
    expect(await again.patch()).toBe(await workspace.patch())
    expect(Buffer.from((await again.files.read('folder'))!)).toEqual(Buffer.from([0, 1, 2, 255]))
  })

  it('are refused where anything in them was altered, or the head is another', async () => {
    const { head, fetched } = await source()
    const commits = await fixAll(kept(await openFrom(fetched)))
    const [first, second] = [commits[0]!, commits[1]!]
    const forged: Changeset[] = [
      { head, commits: [{ ...first, message: 'other' }] },
      { head, commits: [{ ...first, time: TIME + 1 }] },
      { head, commits: [{ ...first, changes: first.changes.slice(1) }] },
      { head, commits: [second] },
      { head: 'c'.repeat(40), commits },
    ]
    for (const changeset of forged) expect(await failure(openFrom(fetched, { changeset }))).toMatchObject({ name: 'ChangesetMismatch' })
  })

  it.each(['../out', '/etc/passwd', '.git/hooks/post-checkout', '.GIT/config', 'a/../../b', 'git~1/config'])(
    'cannot write %s',
    async (path) => {
      const { head, fetched } = await source()
      const changes = [{ kind: 'write' as const, path, mode: '100755' as const, content: '' }]
      const changeset = { head, commits: [{ id: 'd'.repeat(40), message: 'x', time: TIME, changes }] }
      expect(await failure(openFrom(fetched, { changeset }))).toMatchObject({ name: 'OutsideWorkspace' })
      expect(await failure(openFrom(fetched, { work: { commit: head, changes } }))).toMatchObject({ name: 'OutsideWorkspace' })
    },
  )

  it('case 6: one line edited in a CRLF file under `* text` is one line of the commit, and the missing last line end stays missing', async () => {
    const { repository, fetched } = await source()
    const workspace = kept(await openFrom(fetched))
    await workspace.edits!.edit('crlf.txt', 'two', 'zwei')
    const commit = await workspace.commitAll('fix', TIME)
    expect(commit?.changes).toEqual([
      { kind: 'write', path: 'crlf.txt', mode: '100644', content: Buffer.from('one\r\nzwei\r\nthree').toString('base64') },
    ])
    const lines = (await workspace.patch()).split('\n').filter((line) => /^[-+](?![-+])/.test(line))
    expect(lines).toEqual(['-two\r', '+zwei\r'])
    expect(await repository.git('diff', '--stat')).toBe('')
  })

  it('case 27: no change is no commit, also where a file was written as it was', async () => {
    const { fetched, head } = await source()
    const workspace = kept(await openFrom(fetched))
    expect(await workspace.commitAll('nothing', TIME)).toBeNull()
    await workspace.edits!.write('a.txt', Buffer.from('one\nTWO\n'))
    expect(await workspace.changed()).toEqual([])
    expect(await workspace.commitAll('nothing', TIME)).toBeNull()
    expect([workspace.commit, await workspace.saveWork(), await workspace.patch()]).toEqual([head, null, ''])
  })

  it('keep the executable bit, and a committed link that nobody touched', async () => {
    const repository = kept(await makeRepository())
    await repository.write('run.sh', 'echo\n', { executable: true })
    await repository.write('link', '../outside', { link: true })
    const head = await repository.commit('base')
    const workspace = kept(await openFrom(await fetchFrom(repository.path, { base: head, head })))
    expect(Buffer.from((await workspace.files.read('link'))!).toString()).toBe('../outside')
    await workspace.edits!.edit('run.sh', 'echo', 'printf')
    const commit = await workspace.commitAll('fix', TIME)
    expect(commit?.changes).toMatchObject([{ path: 'run.sh', mode: '100755' }])
    const [file, ...others] = await workspace.diff()
    expect([file?.path, file?.oldMode, file?.newMode, others]).toEqual(['run.sh', '100755', '100755', []])
  })

  it('hold files that the tools wrote where .gitignore names them, and not what only lies there', async () => {
    const { fetched } = await source()
    const workspace = kept(await openFrom(fetched))
    await workspace.edits!.write('ignored.txt', Buffer.from('x\n'))
    await workspace.edits!.write('build/by-tool.js', Buffer.from('x\n'))
    await writeFile(join(workspace.root, 'build', 'junk.js'), 'x\n')
    expect(await workspace.changed()).toEqual(['build/by-tool.js', 'ignored.txt'])
    expect((await workspace.commitAll('fix', TIME))?.changes.map((change) => change.path)).toEqual(['build/by-tool.js', 'ignored.txt'])
  })
})

describe('the patch', () => {
  it('is taken by `git apply` and gives the tree of the fix commits, binary and other encodings included', async () => {
    const { repository, fetched } = await source()
    for (const bytes of [Buffer.from('plain\n'), Buffer.from('caf\xe9\n', 'latin1')]) {
      const workspace = kept(await openFrom(fetched))
      await fixAll(workspace)
      await workspace.edits!.write('more.txt', bytes)
      await workspace.commitAll('more', TIME)
      const folder = await temporaryFolder()
      await writeFile(join(folder, 'x.patch'), await workspace.patch())
      await repository.git('apply', '--index', join(folder, 'x.patch'))
      const tree = await repository.git('write-tree')
      await repository.git('reset', '--quiet', '--hard')
      await rm(folder, { recursive: true })
      expect(
        execFileSync('git', ['cat-file', '-p', workspace.commit], { cwd: join(workspace.root, '..', 'repository') }).toString(),
      ).toContain(tree)
    }
  })
})

describe('work', () => {
  it('is carried from one working copy to the next', async () => {
    const { fetched, head } = await source()
    const first = kept(await openFrom(fetched))
    await first.edits!.edit('a.txt', 'one', 'eins')
    await first.edits!.remove('gone.txt')
    await first.edits!.write('ignored.txt', Buffer.from('x'))
    const saved = workSchema.parse(JSON.parse(JSON.stringify(await first.saveWork())))
    expect(saved.commit).toBe(head)
    const second = kept(await openFrom(fetched, { work: saved }))
    expect(await second.changed()).toEqual(['a.txt', 'gone.txt', 'ignored.txt'])
    expect(await second.saveWork()).toEqual(saved)
    expect(await failure(openFrom(fetched, { work: { ...saved, commit: 'e'.repeat(40) } }))).toMatchObject({ name: 'ChangesetMismatch' })
  })

  it('is what restore goes back to; restoreCommit forgets it for good', async () => {
    const { fetched, head } = await source()
    const changes = [{ kind: 'write' as const, path: 'a.txt', mode: '100644' as const, content: Buffer.from('work\n').toString('base64') }]
    const workspace = kept(await openFrom(fetched, { work: { commit: head, changes } }))
    await workspace.edits!.write('a.txt', Buffer.from('more\n'))
    await workspace.edits!.write('new.txt', Buffer.from('new\n'))
    await workspace.commitAll('fix', TIME)
    await workspace.restore()
    expect([workspace.commit, await workspace.changed()]).toEqual([head, ['a.txt']])
    expect(Buffer.from((await workspace.files.read('a.txt'))!).toString()).toBe('work\n')
    await workspace.restoreCommit()
    expect(await workspace.changed()).toEqual([])
    await workspace.restore()
    expect([workspace.commit, await workspace.changed()]).toEqual([head, []])
  })
})

describe('what is not committed', () => {
  it('refuses links that were made, and edits of links, in the working copy', async () => {
    const { fetched } = await source()
    const workspace = kept(await openFrom(fetched))
    await symlink('/etc/passwd', join(workspace.root, 'link'))
    expect(await failure(workspace.commitAll('fix', TIME))).toMatchObject({ name: 'OutsideWorkspace' })
    await rm(join(workspace.root, 'link'))
    expect(await workspace.commitAll('fix', TIME)).toBeNull()
  })

  it('refuses an edit under a filter that went past the tools', async () => {
    const { repository, base, head } = await makeChange({ '.gitattributes': '*.psd filter=lfs\n', 'a.psd': 'x\n' }, { b: 'b\n' })
    kept(repository)
    const workspace = kept(await openFrom(await fetchFrom(repository.path, { base, head })))
    await writeFile(join(workspace.root, '.gitattributes'), '')
    await writeFile(join(workspace.root, 'a.psd'), 'y\n')
    expect(await failure(workspace.commitAll('fix', TIME))).toMatchObject({ name: 'EditRefused' })
  })

  it('leaves nothing behind when it is closed', async () => {
    const { fetched } = await source()
    const workspace: Workspace = await openFrom(fetched)
    await workspace.close()
    await expect(readdir(join(workspace.root, '..'))).rejects.toMatchObject({ code: 'ENOENT' })
  })
})
