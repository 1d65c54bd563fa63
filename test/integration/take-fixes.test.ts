/** What people are told to type moves the branch that was reviewed, and no other: the commands are run as they are printed. */
import { execFile } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { howToTake } from '../../bin/terminal/take.ts'
import type { RunItem } from '../../lib/loop/items.ts'
import { takeFixes } from '../../lib/loop/take-fixes.ts'
import { makeChange, makeRepository, temporaryFolder, type TestRepository } from '../support/git-repository.ts'
import { aRun } from '../support/report.ts'

const FIXES = 'reviewloop/r-0123456789abcdef'

/** `change` has one commit more than `main` and is checked out; the fixes are one more. */
let repository: TestRepository
let head: string
let fixed: string
beforeEach(async () => {
  ;({ repository, head } = await makeChange({ 'a.txt': 'one\n' }, { 'a.txt': 'bad\n' }))
  await repository.branch(FIXES)
  fixed = await repository.commit('fix', { 'a.txt': 'good\n' })
  await repository.switchTo('change')
})
afterEach(() => repository.close())

const requestOf = (more: Partial<RunItem['request']> = {}) => ({
  ...aRun().request,
  repository: repository.path,
  branch: 'change',
  head,
  ...more,
})
const take = (more: Partial<RunItem['request']> = {}, fixes: string | null = FIXES, patch: string | null = null) =>
  howToTake(aRun({ request: requestOf(more) }), fixes, patch)
const type = (command: string, cwd = repository.path) => promisify(execFile)('sh', ['-c', command], { cwd })
const branches = (where = repository) =>
  where.git('for-each-ref', '--format=%(refname:short) %(objectname)', 'refs/heads').then((text) => text.split('\n'))

describe('with a branch of fixes', () => {
  test('where the branch is checked out, it is merged', async () => {
    const command = await take()
    expect(command).toBe(`git -C ${repository.path} merge --ff-only ${FIXES}`)
    await type(command ?? '', '/')
    expect(await repository.id('change')).toBe(fixed)
    expect(String(await repository.read('a.txt'))).toBe('good\n')
  })

  test('where another is, that one stays where it is', async () => {
    await repository.switchTo('main')
    const main = await repository.id('main')
    const command = await take()
    expect(command).toBe(`git -C ${repository.path} fetch . ${FIXES}:change`)
    await type(command ?? '', '/')
    expect([await repository.id('main'), await repository.id('change')]).toEqual([main, fixed])
  })

  test('a branch that moved on is not thrown back', async () => {
    const own = await repository.commit('more', { 'b.txt': 'b\n' })
    await repository.switchTo('main')
    await expect(type((await take()) ?? '')).rejects.toThrow('non-fast-forward')
    expect(await repository.id('change')).toBe(own)
  })

  test('in a bare repository', async () => {
    const bare = await makeRepository({ bare: true })
    await bare.git('fetch', '--quiet', repository.path, 'refs/heads/*:refs/heads/*')
    await type((await take({ repository: bare.path })) ?? '', '/')
    expect(await branches(bare)).toContain(`change ${fixed}`)
    expect(await branches(bare)).toContain(`main ${await repository.id('main')}`)
    await bare.close()
  })

  test('in a working tree beside the first', async () => {
    await repository.switchTo('main')
    const beside = await temporaryFolder()
    const tree = join(beside, 'my tree')
    await repository.git('worktree', 'add', '--quiet', tree, 'change')
    const command = await take()
    expect(command).toBe(`git -C '${tree}' merge --ff-only ${FIXES}`)
    await type(command ?? '', '/')
    expect(await repository.id('change')).toBe(fixed)
    await repository.git('worktree', 'remove', '--force', tree)
    await rm(beside, { recursive: true })
  })

  test('of a commit that is on no branch: only a detached head moves', async () => {
    expect(await take({ branch: null })).toBe(`they are on the branch ${FIXES}`)
    await repository.git('switch', '--quiet', '--detach')
    await type((await take({ branch: null })) ?? '')
    expect([await repository.id('HEAD'), await repository.id('change')]).toEqual([fixed, head])
  })

  test.each(['-x', '--force', 'heads/x', '$(touch${IFS}hit)', "it's;x"])('a branch called %s', async (branch) => {
    await repository.git('update-ref', `refs/heads/${branch}`, head)
    const before = (await branches()).filter((line) => !line.startsWith(branch))
    await type((await take({ branch })) ?? '')
    expect(await repository.id(`refs/heads/${branch}`)).toBe(fixed)
    expect((await branches()).filter((line) => !line.startsWith(branch))).toEqual(before)
    expect(await repository.git('status', '--porcelain')).toBe('')
  })

  test('that is the reviewed one already, and in a repository that is gone', async () => {
    expect(await take({}, 'change')).toBe('they are on change')
    expect(await take({ repository: '/no/such/folder' })).toBe(`git -C /no/such/folder fetch . ${FIXES}:change`)
  })
})

describe('with a patch alone', () => {
  test('it is applied to what was reviewed, and to nothing where there is no working tree', async () => {
    const patch = join(repository.path, '.git', 'p.patch')
    await type(`git diff ${head} ${fixed} > ${patch}`)
    expect(await take({}, null, patch)).toBe(`git -C ${repository.path} apply ${patch}`)
    await repository.switchTo('main')
    await type((await take({}, null, patch)) ?? '')
    expect(await repository.git('branch', '--show-current')).toBe('change')
    expect(String(await repository.read('a.txt'))).toBe('good\n')
    expect(await take({}, null, null)).toBeNull()
    const bare = await makeRepository({ bare: true })
    expect(await take({ repository: bare.path }, null, patch)).toBeNull()
    await bare.close()
  })
})

describe('what the report says, which knows of no checked-out branch', () => {
  const lines = (more: Partial<RunItem['request']> = {}, branch = FIXES) =>
    takeFixes({ request: requestOf(more), fixes: { commit: fixed, branch, patch: null } })

  test('moves the reviewed branch alone', async () => {
    await repository.switchTo('main')
    const main = await repository.id('main')
    expect(lines()).toEqual(['git switch change &&', `git merge --ff-only ${FIXES}`])
    await type(lines().join('\n'))
    expect([await repository.id('main'), await repository.id('change')]).toEqual([main, fixed])
  })

  test('moves nothing where it cannot go to the reviewed branch', async () => {
    await repository.switchTo('main')
    await repository.write('a.txt', 'in the way\n')
    const before = await branches()
    await expect(type(lines().join('\n'))).rejects.toThrow('a.txt')
    expect(await branches()).toEqual(before)
  })

  test.each(['-x', '$(touch${IFS}hit)', "it's;x"])('a branch called %s', async (branch) => {
    await repository.git('update-ref', `refs/heads/${branch}`, head)
    await type(lines({ branch }).join('\n'))
    expect(await repository.id(`refs/heads/${branch}`)).toBe(fixed)
    expect(await repository.git('status', '--porcelain')).toBe('')
  })

  test('of a commit, of a repository behind an address, and of fixes that are on the reviewed branch', async () => {
    expect(lines({ branch: null })).toEqual([`git switch ${FIXES}`])
    const url = 'https://example.com/team/project'
    expect(lines({ repository: url })).toEqual(['git switch change &&', `git pull --ff-only ${url} ${FIXES}`])
    expect(lines({ repository: url, branch: null })).toEqual([`git fetch ${url} ${FIXES} &&`, 'git switch --detach FETCH_HEAD'])
    expect(lines({}, 'change')).toEqual([])
  })
})
