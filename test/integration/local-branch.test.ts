import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { assertFree, workingTrees } from '../../lib/workspace/local-branch.ts'
import { makeChange, makeRepository, temporaryFolder, type TestRepository } from '../support/git-repository.ts'

let repository: TestRepository
let head: string
beforeEach(async () => {
  ;({ repository, head } = await makeChange({ 'a.txt': 'one\n' }, { 'a.txt': 'two\n' }))
  await repository.git('branch', 'team/fixes')
})
afterEach(() => repository.close())

describe('a branch for the fixes', () => {
  test.each(['fixed', 'team/more', 'team/fixes-2', 'teams', '@/x', 'a;b'])('%s is free', async (name) => {
    await expect(assertFree(repository.path, name, 'change')).resolves.toBeUndefined()
  })

  test.each([
    ['main', 'exists'],
    ['team/fixes', 'exists'],
    ['change', 'is checked out'],
    ['team', 'team/fixes stands in the way'],
    ['main/more', 'main stands in the way'],
    ['team/fixes/a/b', 'team/fixes stands in the way'],
  ])('%s is taken: %s', async (name, why) => {
    await expect(assertFree(repository.path, name, null)).rejects.toMatchObject({
      name: 'BranchTaken',
      message: expect.stringContaining(why),
    })
  })

  test.each(['-x', 'HEAD', 'a b', 'x@{1}', 'a..b', 'x.lock', ''])('%j is no name', async (name) => {
    await expect(assertFree(repository.path, name, null)).rejects.toMatchObject({ name: 'BadRequest' })
  })

  test('the reviewed one is free as long as nobody works on it, in whatever working tree, and with a first commit to come', async () => {
    await repository.switchTo('main')
    await expect(assertFree(repository.path, 'change', 'change')).resolves.toBeUndefined()
    const folder = await temporaryFolder()
    await repository.git('worktree', 'add', '--quiet', join(folder, 'x'), 'change')
    await expect(assertFree(repository.path, 'change', 'change')).rejects.toMatchObject({ name: 'BranchTaken' })
    await repository.git('worktree', 'remove', join(folder, 'x'))
    await rm(folder, { recursive: true })
    await repository.git('switch', '--quiet', '--orphan', 'unborn')
    await expect(assertFree(repository.path, 'unborn', 'change')).rejects.toMatchObject({ name: 'BranchTaken' })
  })
})

test('working trees: what each stands on, and none in a bare repository', async () => {
  expect(await workingTrees(repository.path)).toEqual([{ path: repository.path, head, branch: 'change' }])
  await repository.git('switch', '--quiet', '--detach')
  expect(await workingTrees(repository.path)).toEqual([{ path: repository.path, head, branch: null }])
  const bare = await makeRepository({ bare: true })
  expect(await workingTrees(bare.path)).toEqual([{ path: bare.path, head: null, branch: null }])
  await bare.close()
})
