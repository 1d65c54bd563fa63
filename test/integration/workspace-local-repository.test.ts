import { spawnSync } from 'node:child_process'
import { access, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import type { LoopError } from '../../lib/loop/errors.ts'
import { readLocalRepository, resolveCommit } from '../../lib/workspace/local-repository.ts'
import { fingerprintOf, makeChange, makeRepository, repositoryAt, temporaryFolder, type TestRepository } from '../support/git-repository.ts'

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})
const change = async () => {
  const made = await makeChange({ 'a.txt': 'a\n', 'sub/b.txt': 'b\n', '.gitignore': 'ignored\n' }, { 'a.txt': 'A\n' })
  closing.push(() => made.repository.close())
  return made
}
/** A clone of a repository, with it as origin. */
const cloneOf = async (repository: TestRepository): Promise<TestRepository> => {
  const folder = await temporaryFolder()
  closing.push(() => rm(folder, { recursive: true }))
  await repository.git('clone', '--quiet', repository.path, join(folder, 'clone'))
  return repositoryAt(join(folder, 'clone'))
}
const failure = (promise: Promise<unknown>): Promise<LoopError> =>
  promise.then(
    () => expect.fail('it was expected to fail'),
    (error: LoopError) => error,
  )

describe('the repository around a folder', () => {
  it('is found from below its root, with head, branch and base', async () => {
    const { repository, base, head } = await change()
    expect(await readLocalRepository(join(repository.path, 'sub'))).toEqual({
      root: repository.path,
      head,
      branch: 'change',
      base: { commit: base, mergeBase: base, name: 'main' },
      uncommitted: [],
      origin: null,
    })
  })

  it('names what is not committed, and writes nothing while looking', async () => {
    const { repository } = await change()
    await repository.write('a.txt', 'edited\n')
    await repository.write('sub/staged é.txt', 'x\n')
    await repository.git('add', 'sub')
    await repository.write('new.txt', 'x\n')
    await repository.write('ignored', 'x\n')
    await repository.write('excluded', 'x\n')
    await repository.write('.git/info/exclude', 'excluded\n')
    await repository.remove('.gitignore')
    await repository.write('.gitignore', 'ignored\n')
    const before = await fingerprintOf(repository.path)
    expect((await readLocalRepository(repository.path)).uncommitted).toEqual(['a.txt', 'new.txt', 'sub/staged é.txt'])
    expect(await fingerprintOf(repository.path)).toEqual(before)
  })

  it('runs no program that its settings name', async () => {
    const { repository } = await change()
    const ran = join(repository.path, '.git', 'ran')
    for (const key of [
      'filter.x.clean',
      'filter.x.process',
      'core.fsmonitor',
      'core.pager',
      'diff.external',
      'core.sshCommand',
      'alias.status',
    ]) {
      await repository.git('config', key, `sh -c 'touch ${ran}; cat'`)
    }
    await repository.git('config', 'filter.x.required', 'true')
    await repository.write('.git/info/attributes', '* filter=x\n')
    await repository.write('a.txt', 'B\n')
    expect((await readLocalRepository(repository.path)).uncommitted).toEqual(['a.txt'])
    await expect(access(ran)).rejects.toMatchObject({ code: 'ENOENT' })
    // git itself runs it: otherwise the test would show nothing. Only now, for it believes what such a program says of the index.
    spawnSync('git', ['status'], { cwd: repository.path, stdio: 'ignore' })
    await access(ran)
  })

  it('knows links, submodules and a bare repository', async () => {
    const { repository, base } = await change()
    await repository.write('link', 'a.txt', { link: true })
    await repository.git('add', 'link')
    await repository.git('update-index', '--add', '--cacheinfo', `160000,${base},module`)
    await repository.git('commit', '--quiet', '-m', 'more')
    expect((await readLocalRepository(repository.path)).uncommitted).toEqual([])
    const folder = await temporaryFolder()
    closing.push(() => rm(folder, { recursive: true }))
    await repository.git('clone', '--quiet', '--bare', '.', join(folder, 'bare.git'))
    const bare = await readLocalRepository(join(folder, 'bare.git'))
    expect(bare).toMatchObject({ root: join(folder, 'bare.git'), branch: 'change', uncommitted: [], base: { name: 'main' } })
  })
})

describe('the base', () => {
  it('is the upstream, as far as the head has left it behind', async () => {
    const { repository, head } = await change()
    const clone = await cloneOf(repository)
    await clone.git('switch', '--quiet', '--create', 'mine', '--track', 'origin/change')
    const own = await clone.commit('own', { 'c.txt': 'c\n' })
    expect(await readLocalRepository(clone.path)).toMatchObject({
      head: own,
      branch: 'mine',
      base: { name: 'origin/change', commit: head, mergeBase: head },
      origin: repository.path,
    })
  })

  it('is origin/HEAD where the branch was pushed whole', async () => {
    const { repository, base, head } = await change()
    await repository.switchTo('main')
    const clone = await cloneOf(repository)
    await clone.switchTo('change')
    expect(await readLocalRepository(clone.path)).toMatchObject({ head, base: { name: 'origin/main', commit: base } })
  })

  it('is master where there is no main, and its tip where it has gone on', async () => {
    const { repository, base, head } = await change()
    await repository.git('branch', '--move', 'main', 'master')
    await repository.switchTo('master')
    const tip = await repository.commit('further')
    await repository.switchTo('change')
    expect(await readLocalRepository(repository.path)).toMatchObject({ head, base: { name: 'master', commit: tip, mergeBase: base } })
  })

  it('equals the head on the base branch itself', async () => {
    const { repository, base } = await change()
    await repository.switchTo('main')
    expect(await readLocalRepository(repository.path)).toMatchObject({ head: base, base: { name: 'main', commit: base, mergeBase: base } })
  })

  it('and the head are what they are named', async () => {
    const { repository, base, head } = await change()
    await repository.git('tag', '-a', '-m', 'x', 'v1', base)
    const named = await readLocalRepository(repository.path, { base: 'v1', head: 'change' })
    expect(named).toMatchObject({ head, branch: 'change', base: { name: 'v1', commit: base } })
    const bare = await readLocalRepository(repository.path, { base: base.slice(0, 10), head: head.slice(0, 12) })
    expect(bare).toMatchObject({ head, branch: null, base: { commit: base } })
    await repository.git('switch', '--quiet', '--detach')
    expect(await readLocalRepository(repository.path)).toMatchObject({ head, branch: null, base: { name: 'main' } })
  })
})

describe('what is missing is named', () => {
  it('no repository', async () => {
    const folder = await temporaryFolder()
    closing.push(() => rm(folder, { recursive: true }))
    for (const path of [folder, join(folder, 'nowhere')]) {
      expect(await failure(readLocalRepository(path))).toMatchObject({ name: 'NotARepository', message: expect.stringContaining(folder) })
    }
  })

  it('no commit', async () => {
    const empty = await makeRepository()
    closing.push(() => empty.close())
    expect(await failure(readLocalRepository(empty.path))).toMatchObject({
      name: 'NoCommit',
      message: expect.stringContaining('no commit yet'),
    })
    const { repository } = await change()
    for (const revision of ['nothing', '--all', '-h', 'HEAD~9', '', 'main:a.txt', 'a'.repeat(40)]) {
      expect(await failure(resolveCommit(repository.path, revision)), revision).toMatchObject({ name: 'NoCommit' })
    }
    expect(await failure(readLocalRepository(repository.path, { base: 'nothing' }))).toMatchObject({ name: 'NoCommit' })
    expect(await failure(readLocalRepository(repository.path, { head: 'nothing' }))).toMatchObject({ name: 'NoCommit' })
  })

  it('no base', async () => {
    const repository = await makeRepository()
    closing.push(() => repository.close())
    await repository.branch('only')
    await repository.commit('one')
    expect(await failure(readLocalRepository(repository.path))).toMatchObject({ name: 'NoBase' })
    await repository.git('switch', '--quiet', '--orphan', 'other')
    await repository.commit('two')
    expect(await failure(readLocalRepository(repository.path, { base: 'only' }))).toMatchObject({ name: 'NoBase' })
  })

  it('and shows no credential of the remote', async () => {
    const { repository } = await change()
    await repository.git('remote', 'add', 'origin', 'https://me:s3cret@example.com/o/r.git')
    expect((await readLocalRepository(repository.path)).origin).toBe('https://***@example.com/o/r.git')
  })
})
