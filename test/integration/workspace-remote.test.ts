import { randomBytes } from 'node:crypto'
import { readdir, rm, writeFile } from 'node:fs/promises'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { LoopError } from '../../lib/loop/errors.ts'
import { authorization } from '../../lib/workspace/address.ts'
import { gitWorkspaces } from '../../lib/workspace/workspaces.ts'
import { serveGit, type GitServer, type GitServerOptions } from '../support/git-http-server.ts'
import { makeRepository, repositoryAt, temporaryFolder, type TestRepository } from '../support/git-repository.ts'
import { limitsOf, never, openFrom } from '../support/workspaces.ts'

const TOKEN = 'ghp_t0kenOfTheTests'
let served = ''
let bare: TestRepository
let work: TestRepository
const servers: GitServer[] = []

beforeEach(async () => {
  served = await temporaryFolder()
  work = await makeRepository()
  bare = repositoryAt(join(served, 'project.git'))
})
afterEach(async () => {
  delete process.env['GIT_SSL_CAINFO']
  for (const server of servers.splice(0)) await server.close()
  await work.close()
  await rm(served, { recursive: true })
})

const serve = async (options: Partial<GitServerOptions> = {}): Promise<GitServer> => {
  const server = await serveGit({ root: served, ...options })
  servers.push(server)
  return server
}
const publish = (): Promise<string> => work.git('clone', '--quiet', '--bare', '.', bare.path)
const failure = (promise: Promise<unknown>): Promise<LoopError> =>
  promise.then(
    () => expect.fail('it was expected to fail'),
    (error: LoopError) => error,
  )
const fetchFrom = (url: string, source: { base: string; head: string }, limits = {}, token: string | null = null, signal = never()) =>
  gitWorkspaces({ token: async () => token }).fetch(
    { repository: `${url}/project.git`, branch: 'change', ...source },
    () => limitsOf(limits),
    signal,
  )

/** A branch of `ahead` commits off a main of `before` + `after` commits; the branch leaves main `after` commits ago. */
const history = async (before: number, after: number, ahead: number) => {
  for (let index = 0; index < before; index++)
    await work.commit(`main ${index}`, { 'main.txt': `${index}\n`, '.reviewloop.yaml': `rounds: 1\n` })
  const fork = await work.id()
  await work.branch('change')
  for (let index = 0; index < ahead; index++) await work.commit(`change ${index}`, { 'change.txt': `${index}\n` })
  const head = await work.id()
  await work.switchTo('main')
  for (let index = 0; index < after; index++) await work.commit(`more ${index}`, { 'main.txt': `more ${index}\n` })
  const base = await work.id()
  await publish()
  return { fork, base, head }
}

describe('fetching over http', () => {
  it('fetches shallow, and gives the same snapshot as from the folder', async () => {
    const { fork, base, head } = await history(2, 1, 1)
    const { url } = await serve()
    const fetched = await fetchFrom(url, { base, head })
    expect(fetched).toMatchObject({ mergeBase: fork, base, head, files: 1, settings: 'rounds: 1\n', headSettingsDiffer: false })
    const workspace = await openFrom(fetched)
    expect((await workspace.diff()).map((file) => file.path)).toEqual(['change.txt'])
    await workspace.close()
  })

  it('deepens by doubling until it holds the merge base', async () => {
    const { fork, base, head } = await history(3, 45, 1)
    const { url, requests } = await serve()
    expect(await fetchFrom(url, { base, head })).toMatchObject({ mergeBase: fork, files: 1 })
    expect(requests.filter(({ line }) => line.startsWith('GET')).length).toBe(3)
    const error = await failure(fetchFrom(url, { base, head }, { depth: 40 }))
    expect(error).toMatchObject({ name: 'BaseUnreachable', message: expect.stringContaining('limits.depth (40)') })
  })

  it('does not take an older common ancestor for the merge base because the nearer one is cut off', async () => {
    const root = await work.commit('root', { 'a.txt': 'vulnerable\n' })
    const mended = await work.commit('mended', { 'a.txt': 'mended\n' })
    await work.branch('change')
    // The long way from the head to the mended commit, and the short one to the root, whose state it brings back.
    for (let index = 0; index < 40; index++) await work.commit(`long ${index}`, { 'b.txt': `${index}\n` })
    await work.git('read-tree', root)
    const tree = await work.git('write-tree')
    const head = await work.git('commit-tree', tree, '-p', root, '-p', 'change', '-m', 'brought back')
    await work.git('update-ref', 'refs/heads/change', head)
    await work.git('switch', '--quiet', '--force', 'main')
    const base = await work.commit('tip', { 'c.txt': 'c\n' })
    await publish()
    const { url } = await serve()
    const fetched = await fetchFrom(url, { base, head })
    expect(fetched).toMatchObject({ mergeBase: mended, files: 1, empty: false })
  })

  it('names unrelated histories and commits that are not there', async () => {
    const { base } = await history(2, 0, 1)
    await work.git('switch', '--quiet', '--orphan', 'other')
    const other = await work.commit('other', { 'x.txt': 'x\n' })
    await work.git('push', '--quiet', bare.path, 'other')
    const { url } = await serve()
    expect(await failure(fetchFrom(url, { base, head: other }))).toMatchObject({ name: 'BaseUnreachable' })
    expect(await failure(fetchFrom(url, { base, head: 'a'.repeat(40) }))).toMatchObject({ name: 'NoCommit' })
    expect(await failure(fetchFrom(url, { base: 'a'.repeat(40), head: base }))).toMatchObject({ name: 'NoCommit' })
  })

  it('fetches by branch where the server gives no commit by its id', async () => {
    const { fork, base, head } = await history(2, 3, 1)
    await work.commit('newer')
    await work.git('push', '--quiet', bare.path, 'main')
    // The server speaks the first protocol only, in which a commit that is no tip cannot be asked for.
    const { url } = await serve({ env: { GIT_PROTOCOL: 'version=0' } })
    expect(await fetchFrom(url, { base, head })).toMatchObject({ mergeBase: fork, base, head })
    expect(await failure(fetchFrom(url, { base, head: 'a'.repeat(40) }))).toMatchObject({ name: 'NoCommit' })
  })

  it('stops a fetch that brings more than limits.bytes', async () => {
    await work.commit('base', { 'a.txt': 'a\n' })
    const base = await work.id()
    await work.branch('change')
    const head = await work.commit('large', { 'large.bin': randomBytes(3_000_000) })
    await publish()
    const { url } = await serve()
    expect(await failure(fetchFrom(url, { base, head }, { bytes: 1_000_000 }))).toMatchObject({
      name: 'ChangeTooLarge',
      details: { limit: 'limits.bytes' },
    })
  })

  it('sorts failures: not there, refused, moved, broken, slow', async () => {
    const { base, head } = await history(1, 0, 1)
    const status = async (code: number, headers = {}) => {
      const { url } = await serve({ intercept: (_, response) => Boolean(response.writeHead(code, headers).end()) })
      return (await failure(fetchFrom(url, { base, head }))).name
    }
    expect(await status(404)).toBe('FetchRefused')
    expect(await status(403)).toBe('FetchRefused')
    expect(await status(401, { 'www-authenticate': 'Basic realm="git"' })).toBe('FetchRefused')
    expect(await status(301, { location: 'https://example.com/' })).toBe('FetchRefused')
    expect(await status(502)).toBe('FetchFailed')
    expect(await status(429)).toBe('FetchFailed')
    const { url: slow } = await serve({ intercept: () => true })
    expect(await failure(fetchFrom(slow, { base, head }, {}, null, AbortSignal.timeout(300)))).toMatchObject({ name: 'GitTimedOut' })
    const { url: closed } = await serve()
    await servers.pop()!.close()
    expect(await failure(fetchFrom(closed, { base, head }))).toMatchObject({ name: 'FetchFailed' })
  })
})

describe('the token', () => {
  /** Command lines of every process that can be seen. */
  const commandLines = (): string =>
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => {
        try {
          return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
        } catch {
          return ''
        }
      })
      .join('\n')

  it('is sent over https, and stands in no command line and in no error', async () => {
    const { fork, base, head } = await history(2, 1, 1)
    let seen = ''
    const header = authorization(TOKEN)
    const intercept = (): boolean => {
      seen += commandLines()
      return false
    }
    const server = await serve({ secure: true, authorization: header, intercept })
    await writeFile(join(served, 'ca.pem'), server.certificate)
    process.env['GIT_SSL_CAINFO'] = join(served, 'ca.pem')
    expect(await fetchFrom(server.url, { base, head }, {}, TOKEN)).toMatchObject({ mergeBase: fork })
    expect(server.requests.every(({ authorization: sent }) => sent === header)).toBe(true)
    // The processes were there to be seen, and showed nothing.
    expect(seen).toContain('remote-https')
    expect(seen).not.toContain(TOKEN)
    expect(seen).not.toContain(header.slice('Basic '.length))

    const error = await failure(fetchFrom(server.url, { base, head }, {}, `${TOKEN}-wrong`))
    expect(error).toMatchObject({ name: 'FetchRefused' })
    expect(JSON.stringify([error.message, error.details, error.stack])).not.toContain(TOKEN)
    expect(await failure(fetchFrom(server.url, { base, head }))).toMatchObject({ name: 'FetchRefused' })
    expect(await readdir(served)).toEqual(['ca.pem', 'project.git'])
  })

  it('does not go over plain http, nor to where a redirect leads', async () => {
    const { base, head } = await history(1, 0, 1)
    const plain = await serve()
    await fetchFrom(plain.url, { base, head }, {}, TOKEN)
    expect(plain.requests.map(({ authorization: sent }) => sent)).toEqual(plain.requests.map(() => undefined))
    const other = await serve()
    const redirecting = await serve({
      secure: true,
      intercept: (request, response) => Boolean(response.writeHead(302, { location: `${other.url}${request.url}` }).end()),
    })
    await writeFile(join(served, 'ca.pem'), redirecting.certificate)
    process.env['GIT_SSL_CAINFO'] = join(served, 'ca.pem')
    expect(await failure(fetchFrom(redirecting.url, { base, head }, {}, TOKEN))).toMatchObject({ name: 'FetchRefused' })
    expect(other.requests).toEqual([])
  })
})
