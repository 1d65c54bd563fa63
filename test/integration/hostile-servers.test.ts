/** Servers that never answer, never end, or answer what nobody asked for. Everything is on the loopback. */
import { randomBytes } from 'node:crypto'
import { readdir, rm } from 'node:fs/promises'
import { deflateSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { remoteHeads } from '../../lib/forge/remote-refs.ts'
import type { LoopError } from '../../lib/loop/errors.ts'
import { runGit } from '../../lib/workspace/git.ts'
import { gitWorkspaces } from '../../lib/workspace/workspaces.ts'
import { temporaryFolder } from '../support/git-repository.ts'
import { deltaBomb, packEntry, packOf, rawBlob, rawCommit, rawTree, type Raw } from '../support/hostile.ts'
import {
  endlessAdvertisement,
  endlessPack,
  endlessRefs,
  givesPack,
  serveHostile,
  silent,
  type Behaviour,
  type HostileServer,
} from '../support/hostile-server.ts'
import { limitsOf, never } from '../support/workspaces.ts'

let folder = ''
const servers: HostileServer[] = []
beforeEach(async () => {
  folder = await temporaryFolder()
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
  // Whatever the server did, nothing of it is left.
  expect(await readdir(folder)).toEqual([])
  await rm(folder, { recursive: true })
})

const serve = async (behaviour: Behaviour): Promise<HostileServer> => {
  const server = await serveHostile(behaviour)
  servers.push(server)
  return server
}
const failure = (promise: Promise<unknown>): Promise<LoopError> =>
  promise.then(
    () => expect.fail('it was expected to fail'),
    (error: LoopError) => error,
  )

const token = async (): Promise<null> => null
const file = rawBlob('x\n')
const tree = rawTree([['a.txt', file]])
const base = rawCommit(tree)
const changed = rawBlob('y\n')
const headTree = rawTree([['a.txt', changed]])
const head = rawCommit(headTree, base)
const objects = [file, tree, base, changed, headTree, head]

const fetchFrom = (url: string, options: { bytes?: number; signal?: AbortSignal; base?: Raw; head?: Raw } = {}) =>
  gitWorkspaces({ token, folder }).fetch(
    { repository: url, branch: 'change', base: (options.base ?? base).id, head: (options.head ?? head).id },
    () => limitsOf({ bytes: options.bytes ?? 50_000_000 }),
    options.signal ?? never(),
  )

it('an honest answer is taken, so that what the others are refused for is what is wrong with them', async () => {
  const { url } = await serve(givesPack(packOf(objects.map(packEntry))))
  expect(await fetchFrom(url)).toMatchObject({ mergeBase: base.id, head: head.id, files: 1 })
})

describe('a server that says nothing', () => {
  it('is waited for until the time is over, and not longer', async () => {
    const { url, requests } = await serve(silent)
    expect(await failure(fetchFrom(url, { signal: AbortSignal.timeout(500) }))).toMatchObject({ name: 'GitTimedOut' })
    expect(requests.length).toBe(1)
    expect(await failure(remoteHeads(token, { timeout: 300 }).branchHead(url, 'change'))).toMatchObject({ name: 'FetchFailed' })
  })

  it('in the middle of a pack, too', async () => {
    const { url } = await serve((request, response) => {
      if (request.method === 'GET') return givesPack(packOf([]))(request, response)
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' }).write('000d')
    })
    expect(await failure(fetchFrom(url, { signal: AbortSignal.timeout(700) }))).toMatchObject({ name: 'GitTimedOut' })
  })
})

describe('an answer without end', () => {
  it('a list of branches: git is given no more memory for it than a limit', async () => {
    const { url, sent } = await serve(endlessAdvertisement)
    expect(await failure(runGit(['ls-remote', '--', url], { env: { GIT_ALLOC_LIMIT: '16m' } }))).toMatchObject({ name: 'ChangeTooLarge' })
    expect(sent()).toBeLessThan(200_000_000)
  })

  it('a list of branches in many small pieces: the memory of git and its helpers is watched', async () => {
    const { url, sent } = await serve(endlessRefs)
    const error = await failure(runGit(['ls-remote', '--', url], { memory: 100_000_000 }))
    expect(error).toMatchObject({
      name: 'ChangeTooLarge',
      message: expect.stringContaining('git ls-remote needs more than 95 MB of memory'),
    })
    expect(sent()).toBeLessThan(1_000_000_000)
  })

  it('a list of branches: the functions without git read so much of it and no more', async () => {
    const { url, sent } = await serve(endlessAdvertisement)
    expect(await failure(remoteHeads(token).branchHead(url, 'change'))).toMatchObject({ name: 'FetchFailed' })
    expect(sent()).toBeLessThan(200_000_000)
  })

  it('a list of branches: git ends with the time there is', async () => {
    const { url } = await serve(endlessRefs)
    expect(await failure(runGit(['ls-remote', '--', url], { deadline: Date.now() + 400 }))).toMatchObject({ name: 'GitTimedOut' })
  })

  it('a pack: the fetch ends soon after limits.bytes, and its bytes are gone', async () => {
    const noise = randomBytes(1_000_000)
    const own = objects.map(packEntry)
    const { url, sent } = await serve(async (request, response) => {
      const isFirst = servers.at(-1)!.requests.filter((line) => line.startsWith('POST')).length <= 1
      // The base comes whole, so that the limits are known; what follows has no end.
      if (request.method === 'GET' || isFirst) return givesPack(packOf(own))(request, response)
      return endlessPack((count) => packEntry(rawBlob(Buffer.concat([Buffer.from(String(count)), noise]))))(request, response)
    })
    const missing = rawCommit(headTree, base, head)
    const error = await failure(fetchFrom(url, { bytes: 5_000_000, head: missing }))
    expect(error).toMatchObject({ name: 'ChangeTooLarge', details: { limit: 'limits.bytes' } })
    expect(sent()).toBeLessThan(500_000_000)
  })
})

describe('a pack that', () => {
  const without = (left: Raw) => packOf(objects.filter((object) => object !== left).map(packEntry))
  const large = rawBlob(Buffer.alloc(0x10000, 'base'))
  const bomb = (entry: Buffer) => packOf([...objects.map(packEntry), packEntry(large), entry])

  it.each([
    ['holds other commits than those asked for', packOf([file, tree, rawCommit(tree, base)].map(packEntry)), ['FetchFailed', 'NoCommit']],
    ['lacks a file', without(changed), ['FetchFailed', 'NoCommit']],
    ['lacks a tree', without(headTree), ['FetchFailed', 'NoCommit']],
    ['lacks the head', without(head), ['FetchFailed', 'NoCommit']],
    ['counts more objects than it has', packOf(objects.map(packEntry), 99), ['FetchFailed', 'ChangeTooLarge']],
    ['counts fewer objects than it has', packOf(objects.map(packEntry), 2), ['FetchFailed', 'NoCommit']],
    ['ends in the middle', packOf(objects.map(packEntry)).subarray(0, 60), ['FetchFailed']],
    ['has a wrong checksum', Buffer.concat([packOf(objects.map(packEntry)).subarray(0, -1), Buffer.from([0])]), ['FetchFailed']],
    ['says that it has 268 million objects', packOf(objects.map(packEntry), 0x0fff_ffff), ['ChangeTooLarge']],
    ['is no pack', Buffer.from('PACKnonsense, and more of it'), ['FetchFailed']],
    ['is empty', Buffer.alloc(0), ['FetchFailed', 'NoCommit']],
    ['unfolds by a delta into 4 GB', bomb(deltaBomb(large, 0x10000)), ['ChangeTooLarge']],
    [
      'says that an object has 4 GB',
      bomb(Buffer.concat([Buffer.from([0xb0, 0x80, 0x80, 0x80, 0x80, 0x01]), deflateSync('x')])),
      ['FetchFailed'],
    ],
  ])('%s', async (_what, pack, names) => {
    const { url } = await serve(givesPack(pack))
    expect(names).toContain((await failure(fetchFrom(url))).name)
  })

  it('is small, for a file of 150 MB: refused before that file is written', async () => {
    const zeros = rawBlob(Buffer.alloc(150_000_000))
    const wide = rawTree([['zeros', zeros]])
    const commit = rawCommit(wide, base)
    const pack = packOf([...objects, zeros, wide, commit].map(packEntry))
    expect(pack.length).toBeLessThan(500_000)
    const { url } = await serve(givesPack(pack))
    expect(await failure(fetchFrom(url, { bytes: 50_000_000, head: commit }))).toMatchObject({ name: 'ChangeTooLarge' })
  })
})
