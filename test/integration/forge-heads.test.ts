import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { remoteHeads } from '../../lib/forge/remote-refs.ts'
import type { LoopError } from '../../lib/loop/errors.ts'
import { authorization } from '../../lib/workspace/address.ts'
import { serveGit, type GitServer, type GitServerOptions } from '../support/git-http-server.ts'
import { makeRepository, temporaryFolder, type TestRepository } from '../support/git-repository.ts'

const TOKEN = 't0kenOfTheTests'
let served = ''
let work: TestRepository
let head = ''
const servers: GitServer[] = []
beforeEach(async () => {
  served = await temporaryFolder()
  work = await makeRepository()
  head = await work.commit('one', { a: 'a\n' })
  await work.branch('feature/é')
  await work.commit('two')
  await work.git('clone', '--quiet', '--bare', '.', join(served, 'project.git'))
  await work.git('init', '--quiet', '--bare', join(served, 'empty.git'))
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
  await work.close()
  await rm(served, { recursive: true })
})
const serve = async (options: Partial<GitServerOptions> = {}): Promise<GitServer> => {
  const server = await serveGit({ root: served, ...options })
  servers.push(server)
  return server
}
const failure = (promise: Promise<unknown>): Promise<LoopError> =>
  promise.then(
    () => expect.fail('it was expected to fail'),
    (error: LoopError) => error,
  )
const heads = remoteHeads(async () => TOKEN, { timeout: 2000 })

describe('heads of branches without git', () => {
  it('are those of a real server; null where there is none', async () => {
    const { url, requests } = await serve()
    expect(await heads.branchHead(`${url}/project.git`, 'main')).toBe(head)
    expect(await heads.branchHead(`${url}/project.git/`, 'feature/é')).toBe(await work.id())
    expect(await heads.branchHead(`${url}/project.git`, 'mai')).toBeNull()
    expect(await heads.branchHead(`${url}/project.git`, 'HEAD')).toBeNull()
    expect(await heads.branchHead(`${url}/empty.git`, 'main')).toBeNull()
    expect(requests.every((request) => request.authorization === undefined)).toBe(true)
  })

  it('are asked with the token over https', async () => {
    const server = await serve({ secure: true, authorization: authorization(TOKEN) })
    const trusting = remoteHeads(async () => TOKEN, { ca: server.certificate })
    expect(await trusting.branchHead(`${server.url}/project.git`, 'main')).toBe(head)
    const wrong = remoteHeads(async () => `${TOKEN}-wrong`, { ca: server.certificate })
    const error = await failure(wrong.branchHead(`${server.url}/project.git`, 'main'))
    expect(error).toMatchObject({ name: 'FetchRefused' })
    expect(JSON.stringify([error.message, error.details])).not.toContain(TOKEN)
    expect(await failure(heads.branchHead(`${server.url}/project.git`, 'main'))).toMatchObject({ name: 'FetchFailed' })
  })

  it('follow a redirect on the same server and to no other', async () => {
    const other = await serve()
    const server = await serve({
      intercept: (request, response) => {
        const to = request.url?.startsWith('/old') ? request.url.replace('/old', '/project') : null
        const away = request.url?.startsWith('/away') ? `${other.url}${request.url.replace('/away', '/project')}` : null
        const round = request.url?.startsWith('/round') ? request.url : null
        const location = to ?? away ?? round
        return location === null ? false : Boolean(response.writeHead(301, { location }).end())
      },
    })
    expect(await heads.branchHead(`${server.url}/old.git`, 'main')).toBe(head)
    expect(await failure(heads.branchHead(`${server.url}/away.git`, 'main'))).toMatchObject({ name: 'FetchRefused' })
    expect(await failure(heads.branchHead(`${server.url}/round.git`, 'main'))).toMatchObject({ name: 'FetchFailed' })
    expect(other.requests).toEqual([])
  })

  it('sorts failures', async () => {
    const answering = async (status: number, body = ''): Promise<string> => {
      const { url } = await serve({ intercept: (_, response) => Boolean(response.writeHead(status).end(body)) })
      return (await failure(heads.branchHead(`${url}/project.git`, 'main'))).name
    }
    for (const status of [401, 403, 404, 410]) expect(await answering(status)).toBe('FetchRefused')
    for (const status of [429, 500, 502]) expect(await answering(status)).toBe('FetchFailed')
    expect(await answering(200, '<html>')).toBe('FetchFailed')
    expect(await answering(200, '001e# service=git-upload-pack\n0000')).toBe('FetchFailed')
    const { url: slow } = await serve({ intercept: () => true })
    const impatient = remoteHeads(async () => null, { timeout: 100 })
    expect(await failure(impatient.branchHead(`${slow}/project.git`, 'main'))).toMatchObject({
      name: 'FetchFailed',
      message: expect.stringContaining('in time'),
    })
    const { url: closed } = await serve()
    await servers.pop()!.close()
    expect(await failure(heads.branchHead(`${closed}/project.git`, 'main'))).toMatchObject({ name: 'FetchFailed' })
  })

  it('refuse what is no URL and no branch', async () => {
    expect(await failure(heads.branchHead(work.path, 'main'))).toMatchObject({ name: 'BadRequest' })
    expect(await failure(heads.branchHead('http://example.com/x', 'main'))).toMatchObject({ name: 'BadRequest' })
    expect(await failure(heads.branchHead('https://example.com/x', 'a..b'))).toMatchObject({ name: 'BadRequest' })
  })
})
