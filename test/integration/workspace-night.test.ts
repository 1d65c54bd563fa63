/** What a night reviews, by real git: which commits, taken from where, with the fixes of earlier nights or without. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { FetchedSource, NightSpan } from '../../lib/loop/workspace.ts'
import { gitWorkspaces } from '../../lib/workspace/workspaces.ts'
import { serveGit } from '../support/git-http-server.ts'
import { makeRepository, type TestRepository } from '../support/git-repository.ts'
import { limitsOf, never } from '../support/workspaces.ts'

const TARGET = 'reviewloop/nightly-main'
let repository: TestRepository
let root: string

beforeEach(async () => {
  repository = await makeRepository()
  root = await repository.commit('root', { 'root.txt': 'root\n' })
})
afterEach(() => repository.close())

const add = (name: string, text = `${name}\n`): Promise<string> => repository.commit(name, { [`${name}.txt`]: text })

/** A fix of a night on `on`, as it stands on the branch of the nights. */
const fixed = async (on: string, files: Record<string, string>): Promise<string> => {
  await repository.git('checkout', '--quiet', '-B', TARGET, on)
  const id = await repository.commit('fixes', files)
  await repository.switchTo('main')
  return id
}

type Wanted = Partial<Omit<NightSpan, 'most'>> & { most?: Partial<NightSpan['most']> }
const span = (change: Wanted = {}): NightSpan => ({
  since: null,
  from: null,
  certifiedTip: null,
  target: TARGET,
  ours: [],
  isDefault: true,
  ...change,
  most: { commits: 3, files: 10, bytes: 10_000, ...change.most },
})
const plan = async (change: Wanted = {}, at: { base?: string; url?: string; depth?: number } = {}): Promise<FetchedSource> => {
  const head = await repository.id('main')
  const source = { repository: at.url ?? repository.path, branch: 'main', base: at.base ?? head, head, night: span(change) }
  return gitWorkspaces({ token: async () => null }).fetch(
    source,
    () => limitsOf(at.depth === undefined ? {} : { depth: at.depth }),
    never(),
  )
}
const asked = { tip: null, carried: null, left: 0, notices: [] as string[] }

describe('where a night begins', () => {
  it('at the certified commit', async () => {
    const since = await add('one')
    const head = await add('two')
    expect(await plan({ since })).toMatchObject({ mergeBase: since, head, files: 1, night: asked })
  })

  it('a first night of the default branch: some commits back, and that is said', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await add(name)
    const { mergeBase, files, night } = await plan()
    expect([mergeBase, files]).toEqual([await repository.id('main~3'), 3])
    expect(night?.notices).toEqual([
      `A first night: reviewed is what came after ${mergeBase.slice(0, 12)}; what was there before is taken as it is.`,
    ])
  })

  it('a first night of another branch: where it left the base', async () => {
    await add('one')
    expect(await plan({ isDefault: false }, { base: root })).toMatchObject({ mergeBase: root, files: 1, night: asked })
  })

  it('where the history was rewritten: where both agree', async () => {
    const since = await add('lost')
    await repository.git('reset', '--quiet', '--hard', root)
    await add('new')
    expect(await plan({ since })).toMatchObject({ mergeBase: root, files: 1, night: asked })
  })

  it('where the certified commit is nowhere any more: as a first night, and that is said', async () => {
    await add('one')
    const { mergeBase, night } = await plan({ since: 'd'.repeat(40) })
    expect(mergeBase).toBe(root)
    expect(night?.notices[0]).toBe('dddddddddddd, up to which the branch was certified, is no longer in its history.')
  })
})

describe('how far a night goes', () => {
  it.each([
    ['commits', { commits: 2 }, 2],
    ['files', { files: 3, commits: 9 }, 3],
    ['bytes', { bytes: 700, commits: 9 }, 3],
    ['nothing that is reached', { commits: 9 }, 5],
  ])('as far as the bound by %s allows, the oldest first', async (_, most, reviewed) => {
    const since = await repository.id()
    const ids: string[] = []
    for (const name of ['a', 'b', 'c', 'd', 'e']) ids.push(await add(name, `${name.repeat(20)}\n`))
    const { head, files, night } = await plan({ since, most })
    expect([head, files, night?.left]).toEqual([ids[reviewed - 1], reviewed, 5 - reviewed])
    expect(night?.notices.length).toBe(reviewed === 5 ? 0 : 1)
  })

  it('always one commit further, whatever it holds: no commit is waited for in vain', async () => {
    const since = await repository.id()
    const big = await repository.commit('big', Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`${n}.txt`, 'x\n'])))
    await add('small')
    expect(await plan({ since })).toMatchObject({ head: big, files: 30, night: { left: 1 } })
  })

  it('counts a merge as one commit of the branch', async () => {
    const since = await repository.id()
    await repository.git('checkout', '--quiet', '-b', 'topic')
    for (const name of ['a', 'b', 'c', 'd']) await add(name)
    await repository.switchTo('main')
    await repository.git('merge', '--quiet', '--no-ff', '-m', 'merge', 'topic')
    const head = await repository.id()
    expect(await plan({ since })).toMatchObject({ head, files: 4, night: asked })
  })
})

describe('fixes of earlier nights', () => {
  it('certified ones are carried over, and the diff is taken from them: what is new is reviewed with them', async () => {
    const since = await add('one', 'bad\n')
    const tip = await fixed(since, { 'one.txt': 'good\n' })
    const head = await add('two')
    const fetched = await plan({ since, certifiedTip: tip, ours: [tip] })
    expect(fetched).toMatchObject({ mergeBase: tip, head, files: 1, night: { tip, left: 0, notices: [] } })
    expect(fetched.night?.carried?.changes).toEqual([
      { kind: 'write', path: 'one.txt', mode: '100644', content: Buffer.from('good\n').toString('base64') },
    ])
  })

  it('of a run that was not approved are carried over, and what they are of is reviewed again', async () => {
    const since = await repository.id()
    const night = await add('one', 'bad\n')
    const tip = await fixed(night, { 'one.txt': 'good\n' })
    await add('two')
    const fetched = await plan({ since, ours: [tip] })
    expect(fetched).toMatchObject({
      mergeBase: since,
      files: 2,
      night: { tip, carried: { message: 'Carry the fixes of earlier nights over\n' } },
    })
  })

  it('carried over twice are the same commit', async () => {
    const since = await add('one', 'bad\n')
    const tip = await fixed(since, { 'one.txt': 'good\n' })
    await add('two')
    const [a, b] = [await plan({ since, certifiedTip: tip, ours: [tip] }), await plan({ since, certifiedTip: tip, ours: [tip] })]
    expect(a.night?.carried?.id).toBe(b.night?.carried?.id)
  })

  it('that were merged are part of the branch: what came after them is reviewed', async () => {
    const since = await add('one', 'bad\n')
    const tip = await fixed(since, { 'one.txt': 'good\n' })
    await repository.git('merge', '--quiet', '--no-ff', '-m', 'merge', TARGET)
    await add('two')
    expect(await plan({ since, certifiedTip: tip, ours: [tip] })).toMatchObject({ mergeBase: tip, files: 1, night: { tip, carried: null } })
  })

  it('that were squashed into the branch are not carried over again', async () => {
    const since = await add('one', 'bad\n')
    const tip = await fixed(since, { 'one.txt': 'good\n' })
    await repository.commit('squashed', { 'one.txt': 'good\n' })
    expect((await plan({ since, certifiedTip: tip, ours: [tip] })).night?.carried).toBeNull()
  })

  it('that cannot be merged are given up, and what they were made for is reviewed again', async () => {
    const from = await repository.id()
    const since = await add('one', 'bad\n')
    const tip = await fixed(since, { 'one.txt': 'good\n' })
    await repository.commit('other', { 'one.txt': 'worse\n' })
    const fetched = await plan({ since, from, certifiedTip: tip, ours: [tip] })
    expect(fetched).toMatchObject({ mergeBase: from, files: 1, night: { tip, carried: null } })
    expect(fetched.night?.notices[0]).toContain('cannot be merged with the branch')
  })

  it('that were made on commits which a force push took out bring none of those back', async () => {
    const from = await repository.id()
    const since = await add('one', 'bad\n')
    const tip = await fixed(since, { 'one.txt': 'good\n' })
    await repository.git('reset', '--quiet', '--hard', from)
    const head = await add('two')
    const fetched = await plan({ since, from, certifiedTip: tip, ours: [tip] })
    expect(fetched).toMatchObject({ mergeBase: from, head, files: 1, night: { tip, carried: null } })
    expect(fetched.night?.notices[0]).toContain('are made on commits that the branch no longer has')
  })

  it("a branch with a person's commit on it is a typed end, until that commit is merged", async () => {
    const since = await add('one', 'bad\n')
    const ours = await fixed(since, { 'one.txt': 'good\n' })
    await fixed(ours, { 'mine.txt': 'mine\n' })
    await add('two')
    await expect(plan({ since, certifiedTip: ours, ours: [ours] })).rejects.toMatchObject({ name: 'NightBranchMoved' })
    await repository.git('merge', '--quiet', '--no-ff', '-m', 'merge', TARGET)
    expect(await plan({ since, certifiedTip: ours, ours: [ours] })).toMatchObject({ night: { carried: null } })
  })
})

it('of a server, no more history is fetched than it takes, and it is the same plan', async () => {
  const since = await add('one', 'bad\n')
  const tip = await fixed(since, { 'one.txt': 'good\n' })
  for (let at = 0; at < 40; at++) await repository.git('commit', '--quiet', '--allow-empty', '-m', `commit ${at}`)
  const head = await add('two')
  const server = await serveGit({ root: repository.path })
  try {
    const wanted = { since, certifiedTip: tip, ours: [tip], most: { commits: 100, files: 10, bytes: 10_000 } }
    const { pack: _local, ...local } = await plan(wanted)
    const { pack: _remote, ...remote } = await plan(wanted, { url: `${server.url}/.git` })
    expect(remote).toEqual(local)
    expect(remote).toMatchObject({ mergeBase: tip, head, night: { tip, left: 0 } })
  } finally {
    await server.close()
  }
})

it('of a server, a certified commit that is deeper than may be fetched is no first night', async () => {
  const since = await add('one')
  for (let at = 0; at < 40; at++) await repository.git('commit', '--quiet', '--allow-empty', '-m', `commit ${at}`)
  await add('two')
  const server = await serveGit({ root: repository.path })
  try {
    const url = `${server.url}/.git`
    await expect(plan({ since }, { url, depth: 32 })).rejects.toMatchObject({ name: 'BaseUnreachable' })
    expect(await plan({ since }, { url, depth: 64 })).toMatchObject({ mergeBase: since })
  } finally {
    await server.close()
  }
})
