import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { gitForge } from '../../lib/forge/git-forge.ts'
import type { LoopError } from '../../lib/loop/errors.ts'
import type { Changeset } from '../../lib/loop/workspace.ts'
import { authorization } from '../../lib/workspace/address.ts'
import { serveGit, type GitServer, type GitServerOptions } from '../support/git-http-server.ts'
import { fingerprintOf, makeChange, makeRepository, repositoryAt, temporaryFolder, type TestRepository } from '../support/git-repository.ts'
import { fetchFrom, infoOf, never, openFrom } from '../support/workspaces.ts'

const TOKEN = 't0kenOfTheTests'
const TIME = 1_700_000_000
const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  delete process.env['GIT_SSL_CAINFO']
  for (const close of closing.splice(0).toReversed()) await close()
})
const failure = (promise: Promise<unknown>): Promise<LoopError> =>
  promise.then(
    () => expect.fail('it was expected to fail'),
    (error: LoopError) => error,
  )

/** The fixes of a change, ready to be published. */
const fixes = async (repository: TestRepository, source: { base: string; head: string }) => {
  const fetched = await fetchFrom(repository.path, source)
  const workspace = await openFrom(fetched)
  await workspace.edits!.edit('a.txt', 'two', 'TWO')
  const first = await workspace.commitAll('Fix one', TIME)
  await workspace.edits!.write('b/new.bin', Buffer.from([0, 1, 2]))
  const second = await workspace.commitAll('Fix two', TIME + 1)
  await workspace.close()
  const changeset: Changeset = { head: source.head, commits: [first!, second!] }
  return { info: infoOf(fetched), pack: fetched.pack, changeset, commit: second!.id, head: source.head, branch: 'change', signal: never() }
}
type Fixes = Omit<Awaited<ReturnType<typeof fixes>>, 'branch'> & { branch: string | null }
const forge = gitForge({ token: async () => TOKEN })

/** What has to hold for a folder and for a server alike. `tips` is the repository that is published to; `at` its address. */
const contract = (make: () => Promise<{ tips: TestRepository; at: string; work: TestRepository; ready: Fixes }>): void => {
  let tips: TestRepository
  let work: TestRepository
  let at: string
  let ready: Fixes
  beforeEach(async () => {
    ;({ tips, at, work, ready } = await make())
  })
  const publish = (target: string, more: Partial<Fixes> = {}) => forge.publish({ ...ready, repository: at, target, ...more })
  const tip = (branch: string): Promise<string> => tips.id(`refs/heads/${branch}`)

  it('makes a new branch, once', async () => {
    expect(await publish('reviewloop/r-1')).toBe('published')
    expect(await tip('reviewloop/r-1')).toBe(ready.commit)
    expect(await tips.git('show', '--stat', '--format=%an %ae %cn %at', ready.commit)).toContain('reviewloop')
    expect(await tips.git('cat-file', 'blob', `${ready.commit}:a.txt`)).toBe('one\nTWO')
    expect(await publish('reviewloop/r-1')).toBe('already')
    expect(await tip('change')).toBe(ready.head)
  })

  it('moves the branch that was reviewed, once', async () => {
    await tips.git('symbolic-ref', 'HEAD', 'refs/heads/main')
    expect(await publish('change')).toBe('published')
    expect(await tip('change')).toBe(ready.commit)
    expect(await publish('change')).toBe('already')
    expect(await forge.branchHead(at, 'change')).toBe(ready.commit)
  })

  it('is done already where somebody has gone on from our commit', async () => {
    await tips.git('symbolic-ref', 'HEAD', 'refs/heads/main')
    await publish('change')
    const tree = await tips.git('rev-parse', `${ready.commit}^{tree}`)
    const further = await tips.git('commit-tree', tree, '-p', ready.commit, '-m', 'further')
    await tips.git('update-ref', 'refs/heads/change', further)
    expect(await publish('change')).toBe('already')
    expect(await tip('change')).toBe(further)
  })

  it('case 15: says that the branch is gone, has moved, or was rewound, and changes nothing', async () => {
    await tips.git('symbolic-ref', 'HEAD', 'refs/heads/main')
    const tree = await tips.git('rev-parse', `${ready.head}^{tree}`)
    const moved = await tips.git('commit-tree', tree, '-p', ready.head, '-m', 'moved')
    for (const to of [moved, ready.info.mergeBase]) {
      await tips.git('update-ref', 'refs/heads/change', to)
      for (const target of ['change', 'reviewloop/r-1']) {
        expect(await failure(publish(target))).toMatchObject({ name: 'HeadMoved', details: { found: to } })
      }
      expect(await tip('change')).toBe(to)
    }
    await tips.git('update-ref', '-d', 'refs/heads/change')
    for (const target of ['change', 'reviewloop/r-1']) expect(await failure(publish(target))).toMatchObject({ name: 'BranchGone' })
    expect(await tips.git('for-each-ref', '--format=%(refname)')).toBe('refs/heads/main')
  })

  it('takes no branch that holds something else, and none whose name is in the way', async () => {
    await tips.git('branch', 'taken', ready.info.mergeBase)
    expect(await failure(publish('taken'))).toMatchObject({ name: 'BranchTaken' })
    expect(await failure(publish('main'))).toMatchObject({ name: 'BranchTaken' })
    expect(await tip('taken')).toBe(ready.info.mergeBase)
    expect(['BranchTaken', 'PushRefused']).toContain((await failure(publish('taken/below'))).name)
  })

  it('publishes nothing but the commit that was recorded', async () => {
    expect(await failure(publish('new', { commit: 'a'.repeat(40) }))).toMatchObject({ name: 'ChangesetMismatch' })
    const forged = { ...ready.changeset, commits: [{ ...ready.changeset.commits[0]!, message: 'other' }, ready.changeset.commits[1]!] }
    expect(await failure(publish('new', { changeset: forged }))).toMatchObject({ name: 'ChangesetMismatch' })
    expect(await forge.branchHead(at, 'new')).toBeNull()
  })

  it('publishes for a head that is no branch', async () => {
    expect(await publish('fixes', { branch: null })).toBe('published')
    expect(await publish('fixes', { branch: null })).toBe('already')
  })

  it('case 19: takes names of branches as data', async () => {
    await rm('/tmp/reviewloop-owned', { force: true })
    const names = ['fix@2#1,x;y+z', '$(touch${IFS}x)', '--upload-pack=touch', '-d', "a'b", 'a|b&c', 'é']
    for (const name of names) {
      expect(await publish(name)).toBe('published')
      expect(await forge.branchHead(at, name)).toBe(ready.commit)
    }
    expect(await failure(publish('a..b'))).toMatchObject({ name: 'BadRequest' })
    await tips.git('update-ref', 'refs/heads/deep/refs/heads/inner', ready.head)
    expect(await forge.branchHead(at, 'inner')).toBeNull()
    expect(await work.id()).toBe(ready.head)
  })
}

describe('publishing to a folder', () => {
  const make = async () => {
    const { repository, base, head } = await makeChange({ 'a.txt': 'one\n' }, { 'a.txt': 'one\ntwo\n' })
    closing.push(() => repository.close())
    return { tips: repository, at: repository.path, work: repository, ready: await fixes(repository, { base, head }) }
  }
  contract(make)

  it('adds objects and one branch; working tree, index, other refs and settings stay, and no hook runs', async () => {
    const { tips, at, ready } = await make()
    await tips.write('a.txt', 'not committed\n')
    await tips.git('config', 'core.logAllRefUpdates', 'false')
    await tips.git('config', 'gc.auto', '1')
    await tips.git('config', 'transfer.unpackLimit', '1')
    for (const hook of ['reference-transaction', 'pre-receive', 'update', 'post-update', 'post-receive', 'pre-push', 'pre-auto-gc']) {
      await tips.write(`.git/hooks/${hook}`, '#!/bin/sh\ntouch /tmp/reviewloop-hook-ran "$GIT_DIR/hook-ran"\nexit 1\n', {
        executable: true,
      })
    }
    const before = await fingerprintOf(at)
    expect(await forge.publish({ ...ready, repository: at, target: 'reviewloop/r-1' })).toBe('published')
    const after = await fingerprintOf(at)
    const others = Object.keys(after).filter((path) => before[path] !== after[path] && !path.includes('/.git/objects/'))
    expect(others.map((path) => path.slice(at.length))).toEqual(['/.git/refs/heads/reviewloop', '/.git/refs/heads/reviewloop/r-1'])
    expect(Object.keys(before).filter((path) => !(path in after))).toEqual([])
    await tips.git('fsck', '--strict')
  })

  it('does not move a branch that is checked out, here or in another working tree', async () => {
    const { tips, at, ready } = await make()
    expect(await failure(forge.publish({ ...ready, repository: at, target: 'change' }))).toMatchObject({
      name: 'BranchTaken',
      message: expect.stringContaining('checked out'),
    })
    const folder = await temporaryFolder()
    closing.push(() => rm(folder, { recursive: true }))
    await tips.git('switch', '--quiet', 'main')
    await tips.git('worktree', 'add', '--quiet', join(folder, 'tree'), 'change')
    expect(await failure(forge.publish({ ...ready, repository: at, target: 'change' }))).toMatchObject({ name: 'BranchTaken' })
    expect(await tips.id('change')).toBe(ready.head)
  })

  it('names what is no repository', async () => {
    const folder = await temporaryFolder()
    closing.push(() => rm(folder, { recursive: true }))
    expect(await failure(forge.branchHead(folder, 'main'))).toMatchObject({ name: 'NotARepository' })
  })
})

describe('publishing to a server', () => {
  const serve = async (options: Partial<GitServerOptions> = {}) => {
    const served = await temporaryFolder()
    const { repository, base, head } = await makeChange({ 'a.txt': 'one\n' }, { 'a.txt': 'one\ntwo\n' })
    await repository.git('clone', '--quiet', '--bare', '.', join(served, 'project.git'))
    const tips = repositoryAt(join(served, 'project.git'))
    await tips.git('config', 'http.receivepack', 'true')
    const server: GitServer = await serveGit({ root: served, ...options })
    closing.push(
      () => repository.close(),
      () => rm(served, { recursive: true }),
      () => server.close(),
    )
    const at = `${server.url}/project.git`
    return { tips, at, work: repository, ready: await fixes(repository, { base, head }), server, served }
  }
  contract(() => serve())

  it('pushes with a token over https, and shows it nowhere', async () => {
    const { tips, at, ready, server, served } = await serve({ secure: true, authorization: authorization(TOKEN) })
    await writeFile(join(served, 'ca.pem'), server.certificate)
    process.env['GIT_SSL_CAINFO'] = join(served, 'ca.pem')
    expect(await forge.publish({ ...ready, repository: at, target: 'fixes' })).toBe('published')
    expect(await tips.id('fixes')).toBe(ready.commit)
    const wrong = gitForge({ token: async () => `${TOKEN}-wrong` })
    const error = await failure(wrong.publish({ ...ready, repository: at, target: 'fixes' }))
    expect(error).toMatchObject({ name: 'FetchRefused' })
    expect(JSON.stringify([error.message, error.details, error.stack])).not.toContain(TOKEN)
  })

  it('sorts what the server says: hook, permission, trouble', async () => {
    const { tips, at, ready } = await serve()
    await tips.write('hooks/pre-receive', '#!/bin/sh\necho "protected branch" >&2\nexit 1\n', { executable: true })
    expect(await failure(forge.publish({ ...ready, repository: at, target: 'x' }))).toMatchObject({
      name: 'PushRefused',
      message: expect.stringContaining('pre-receive hook declined'),
    })
    expect(await forge.branchHead(at, 'x')).toBeNull()
    await tips.git('config', 'http.receivepack', 'false')
    expect(await failure(forge.publish({ ...ready, repository: at, target: 'x' }))).toMatchObject({ name: 'PushRefused' })

    const broken = await serve({
      intercept: (request, response) => Boolean(request.url?.includes('receive-pack') && response.writeHead(502).end()),
    })
    expect(await failure(forge.publish({ ...broken.ready, repository: broken.at, target: 'x' }))).toMatchObject({ name: 'PushFailed' })
  })

  it('case 30: a push that was taken and whose answer was lost is not done again', async () => {
    let lose = true
    const losing = await serve({
      intercept: async (request, response) => {
        if (lose && request.method === 'POST' && request.url?.endsWith('git-receive-pack')) {
          response.write = () => true
          response.end = () => response.destroy()
        }
        return false
      },
    })
    const request = { ...losing.ready, repository: losing.at, target: 'x' }
    expect(await failure(forge.publish(request))).toMatchObject({ name: 'PushFailed' })
    lose = false
    expect(await losing.tips.id('x')).toBe(losing.ready.commit)
    expect(await forge.publish(request)).toBe('already')
  })

  it('gives way to a branch that moves between the look and the push', async () => {
    let moved = ''
    const racing = await serve({
      intercept: async (request) => {
        if (moved !== '' || !request.url?.includes('service=git-receive-pack')) return false
        const tree = await racing.tips.git('rev-parse', `${racing.ready.head}^{tree}`)
        moved = await racing.tips.git('commit-tree', tree, '-p', racing.ready.head, '-m', 'moved')
        await racing.tips.git('update-ref', 'refs/heads/change', moved)
        return false
      },
    })
    expect(await failure(forge.publish({ ...racing.ready, repository: racing.at, target: 'change' }))).toMatchObject({ name: 'HeadMoved' })
    expect(await racing.tips.id('change')).toBe(moved)
  })
})

describe('a repository without any branch', () => {
  it('has no heads', async () => {
    const empty = await makeRepository({ bare: true })
    closing.push(() => empty.close())
    expect(await forge.branchHead(empty.path, 'main')).toBeNull()
  })
})
