import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { callRemote, fetchRemote, parseRemote, regionOf } from '../../bin/terminal/remote.ts'

const KEY = { id: 'AKIDEXAMPLE', secret: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' }
const sha = (text: string) => createHash('sha256').update(text).digest('hex')
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()

/** Checks a signature as AWS documents it, from the request alone. */
const signatureFits = (request: IncomingMessage, body: string, region: string): boolean => {
  const match =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/execute-api\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? '',
    )
  if (!match) return false
  const [, id, day, signedRegion, names, signature] = match as unknown as [string, string, string, string, string, string]
  const headers = names.split(';').map((name) => `${name}:${String(request.headers[name]).trim()}\n`)
  const [path = '', query = ''] = (request.url ?? '').split('?')
  const canonical = [request.method, path, query.split('&').toSorted().join('&'), headers.join(''), names, sha(body)].join('\n')
  const scope = `${day}/${signedRegion}/execute-api/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, sha(canonical)].join('\n')
  const key = [day, signedRegion, 'execute-api', 'aws4_request'].reduce<string | Buffer>(
    (sum, part) => hmac(sum, part),
    `AWS4${KEY.secret}`,
  )
  return id === KEY.id && signedRegion === region && names.split(';').includes('host') && hmac(key, toSign).toString('hex') === signature
}

let server: Server
let base: URL
let authorizations: (string | undefined)[]
let seen: { method: string; url: string; body: string; fits: boolean }[]
let reply: { status: number; body: string; location?: string }
beforeEach(async () => {
  seen = []
  authorizations = []
  reply = { status: 200, body: '{"ok":true}' }
  vi.stubEnv('AWS_ACCESS_KEY_ID', KEY.id)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', KEY.secret)
  vi.stubEnv('AWS_SESSION_TOKEN', undefined)
  vi.stubEnv('AWS_REGION', 'eu-central-1')
  server = createServer((request, response) => void answer(request, response))
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    seen.push({ method: request.method ?? '', url: request.url ?? '', body, fits: signatureFits(request, body, 'eu-central-1') })
    const {
      status,
      body: text,
      location,
    } = request.url?.endsWith('/elsewhere') ? { status: 200, body: 'large', location: undefined } : reply
    authorizations.push(request.headers.authorization)
    response.writeHead(status, { 'content-type': 'application/json', ...(location ? { location } : {}) }).end(text)
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  base = parseRemote(`http://127.0.0.1:${(server.address() as AddressInfo).port}/prod/`)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

describe('what is sent', () => {
  test('a GET and a POST are signed so that the documented check passes, below the path of the stage', async () => {
    expect(await callRemote(base, 'GET', '/runs/r-0123456789abcdef')).toEqual({ ok: true })
    await callRemote(base, 'POST', '/runs', { repository: 'https://example.org/a', branch: 'fix/é' })
    expect(seen).toEqual([
      { method: 'GET', url: '/prod/runs/r-0123456789abcdef', body: '', fits: true },
      { method: 'POST', url: '/prod/runs', body: '{"repository":"https://example.org/a","branch":"fix/é"}', fits: true },
    ])
  })
  test('a query is part of what is signed', async () => {
    await fetchRemote(base, 'GET', '/runs', { query: { status: 'parked', repository: 'https://git.example/a b', after: undefined } })
    expect(seen).toEqual([
      { method: 'GET', url: '/prod/runs?status=parked&repository=https%3A%2F%2Fgit.example%2Fa%20b', body: '', fits: true },
    ])
  })
  test('a service of this machine is sent the token that it printed, and no signature', async () => {
    vi.stubEnv('REVIEWLOOP_REMOTE_TOKEN', 'a-token')
    await callRemote(base, 'GET', '/health')
    expect(authorizations).toEqual(['Bearer a-token'])
  })
  test('another secret does not fit', async () => {
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'another')
    await callRemote(base, 'GET', '/runs/x')
    expect(seen[0]?.fits).toBe(false)
  })
})

describe('what comes back', () => {
  test('what lies elsewhere is fetched there, without a credential', async () => {
    reply = { status: 303, body: '', location: `${base.origin}/elsewhere` }
    expect(await fetchRemote(base, 'GET', '/runs/x/report')).toBe('large')
    expect(authorizations).toEqual([expect.stringMatching(/^AWS4/), undefined])
  })
  test.each(['http://example.org/x', 'file:///etc/passwd', '/relative'])(
    'an address that is not https is not followed: %s',
    async (location) => {
      reply = { status: 303, body: '', location }
      await expect(fetchRemote(base, 'GET', '/runs/x/report')).rejects.toMatchObject({ name: 'StoreUnavailable' })
      expect(seen.length).toBe(1)
    },
  )
  test('a problem of the catalogue is that error, with its detail', async () => {
    reply = { status: 403, body: JSON.stringify({ title: 'RepositoryNotAllowed', detail: 'not this one', status: 403 }) }
    await expect(callRemote(base, 'POST', '/runs', {})).rejects.toMatchObject({ name: 'RepositoryNotAllowed', message: 'not this one' })
  })
  test.each([
    [403, '{"message":"Forbidden"}', 'BadRequest'],
    [500, '{"message":"Internal Server Error"}', 'StoreUnavailable'],
    [502, '<html>', 'StoreUnavailable'],
    [200, 'not json', 'StoreUnavailable'],
  ])('%i with %s is %s', async (status, body, name) => {
    reply = { status, body }
    await expect(callRemote(base, 'GET', '/runs/x')).rejects.toMatchObject({ name })
  })
  test('nobody there', async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await expect(callRemote(base, 'GET', '/runs/x')).rejects.toMatchObject({ name: 'StoreUnavailable' })
    server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
})

describe('addresses', () => {
  test('https, or http on the loopback; nothing else, and no credential', () => {
    expect(parseRemote('https://abc.execute-api.eu-west-1.amazonaws.com/').host).toBe('abc.execute-api.eu-west-1.amazonaws.com')
    for (const bad of ['http://example.org', 'ftp://localhost', 'abc', '', 'https://user:secret@example.org'])
      expect(() => parseRemote(bad)).toThrow(expect.objectContaining({ name: 'BadRequest' }))
  })
  test('the region comes from the name, else from the environment, else it is asked for', () => {
    expect(regionOf(new URL('https://abc.execute-api.eu-west-1.amazonaws.com'), { AWS_REGION: 'us-east-1' })).toBe('eu-west-1')
    expect(regionOf(new URL('https://loop.example.org'), { AWS_REGION: 'us-east-1' })).toBe('us-east-1')
    expect(() => regionOf(new URL('https://loop.example.org'), {})).toThrow(expect.objectContaining({ name: 'BadRequest' }))
  })
})
