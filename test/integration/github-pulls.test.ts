/** What is asked of GitHub before a comment is obeyed, over HTTP against a server on loopback. */
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { githubPulls } from '../../lib/forge/github-pulls.ts'
import { deployment } from '../../lib/loop/deployment.ts'
import { pullRequestOf } from '../support/webhooks.ts'

let server: Server
let answer: (path: string) => [status: number, body: string, headers?: Record<string, string>]
let asked: IncomingMessage[]
const repository = () => {
  const { port } = server.address() as AddressInfo
  const forge = { kind: 'github', repositoryId: 1, ownerId: 2, apiUrl: `http://127.0.0.1:${port}/api/` }
  const [found] = deployment.parse({ repositories: [{ url: 'https://github.com/you/project.git', forge }] }).repositories
  return found!
}
const pulls = githubPulls(async () => 'a-read-only-token')

beforeEach(async () => {
  asked = []
  answer = () => [404, '{}']
  server = createServer((request, response) => {
    asked.push(request)
    const [status, body, headers = {}] = answer(request.url ?? '')
    response.writeHead(status, headers).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterEach(() => new Promise((resolve) => server.close(resolve)))

describe('a pull request', () => {
  it('is asked for under its documented address, with the token that only reads', async () => {
    answer = () => [200, JSON.stringify(pullRequestOf('opened')['pull_request'])]
    expect(await pulls.pull(repository(), 12)).toEqual({ branch: 'changes', base: 'main', open: true, fork: false })
    expect(asked[0]?.url).toBe('/api/repos/you/project/pulls/12')
    expect(asked[0]?.headers).toMatchObject({ authorization: 'Bearer a-read-only-token', 'x-github-api-version': '2022-11-28' })
  })

  it.each([
    ['a fork', { head: { ref: 'x', repo: { id: 9 } } }, { fork: true }],
    ['a fork that is gone', { head: { ref: 'x', repo: null } }, { fork: true }],
    ['one that is closed', { state: 'closed' }, { open: false }],
  ])('that is %s is told apart', async (_what, change, expected) => {
    answer = () => [200, JSON.stringify({ ...(pullRequestOf('opened')['pull_request'] as object), ...change })]
    expect(await pulls.pull(repository(), 12)).toMatchObject(expected)
  })

  it('that is not there is none', async () => {
    expect(await pulls.pull(repository(), 12)).toBeNull()
  })
})

describe('whether a person may write', () => {
  it.each([
    ['admin', true],
    ['write', true],
    ['read', false],
    ['none', false],
    ['anything else', false],
  ])('who has %s: %s', async (permission, may) => {
    answer = () => [200, JSON.stringify({ permission, role_name: 'maintain' })]
    expect(await pulls.mayWrite(repository(), 'ada')).toBe(may)
    expect(asked[0]?.url).toBe('/api/repos/you/project/collaborators/ada/permission')
  })

  it('is no where GitHub knows nobody of that name, and a name leads nowhere else', async () => {
    expect(await pulls.mayWrite(repository(), '../../x')).toBe(false)
    expect(asked[0]?.url).toBe('/api/repos/you/project/collaborators/..%2F..%2Fx/permission')
  })

  it.each([
    ['FetchRefused', 401, '{}', {}],
    ['FetchRefused', 403, '{}', {}],
    ['FetchFailed', 429, '{}', {}],
    ['FetchFailed', 502, '', {}],
    ['FetchFailed', 200, 'no json', {}],
    ['FetchFailed', 200, '{"permission":1}', {}],
    ['FetchFailed', 302, '', { location: 'http://127.0.0.1:9/' }],
  ])('is never a yes that was not given: %s for %i %j', async (name, status, body, headers) => {
    answer = () => [status, body, headers]
    await expect(pulls.mayWrite(repository(), 'ada')).rejects.toMatchObject({ name })
    expect(asked).toHaveLength(1)
  })

  it('is asked over https alone, unless of this machine', async () => {
    const [far] = deployment.parse({
      repositories: [
        { url: 'https://github.com/you/project', forge: { kind: 'github', repositoryId: 1, ownerId: 2, apiUrl: 'http://git.example' } },
      ],
    }).repositories
    await expect(pulls.mayWrite(far!, 'ada')).rejects.toMatchObject({ name: 'FetchRefused' })
  })
})
