/** GitHub on loopback: stateful, with tokens and permissions, and every request and answer held to GitHub's published description. */
import { createVerify, generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { answerComplaints, exampleOf, type Matched, operations, requestComplaints } from './description.ts'
import { type Answer, APP, GithubState, invalid, OWNER, REPO, REPOSITORY_ID, ROUTES } from './state.ts'

/** What becomes of a request: an answer instead of what it would be; `lost`: done, and never answered; `dropped`: not done either. */
export type Fault = Answer | 'lost' | 'dropped'

export interface GithubMock extends AsyncDisposable {
  url: string
  state: GithubState
  /** Private key of the App, PEM, as GitHub gives it out. */
  key: string
  /** Routes in the order they came. */
  calls: string[]
  /** Asked before a request is looked at; null: it is answered as it is. `count`: how often the route was asked before. */
  fault: (route: string, count: number) => Fault | null
  /** What the description does not allow, of requests and of answers: to be empty. */
  complaints: string[]
  /** Everything that was sent, for a search. */
  sent: string[]
}

const INSTALLATION = 'GET /repos/{owner}/{repo}/installation'
const TOKENS = 'POST /app/installations/{installation_id}/access_tokens'
const LEVELS: Record<string, number> = { read: 1, write: 2 }

const unauthorized = (message: string): Answer => ({
  status: 401,
  body: { message, documentation_url: 'https://docs.github.com', status: '401' },
})
export const refused = (message = 'Resource not accessible by integration'): Answer => ({
  status: 403,
  body: { message, documentation_url: 'https://docs.github.com', status: '403' },
})

const text = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

const keys = generateKeyPairSync('rsa', { modulusLength: 2048 })

/** Whether a token is the App's own: really signed, made out by it, and not for long. */
const isAppToken = (token: string): boolean => {
  const [head = '', body = '', signature = ''] = token.split('.')
  const verify = createVerify('RSA-SHA256').update(`${head}.${body}`)
  if (!verify.verify(keys.publicKey, signature, 'base64url')) return false
  const { iss, exp, iat } = JSON.parse(Buffer.from(body, 'base64url').toString()) as { iss: number; exp: number; iat: number }
  const now = Date.now() / 1000
  return String(iss) === String(APP.id) && iat <= now && exp > now && exp - iat <= 660
}

export const startGithub = async (): Promise<GithubMock> => {
  const state = new GithubState()
  const match = operations([INSTALLATION, TOKENS, ...Object.keys(ROUTES)])
  const tokens = new Map<string, Record<string, string>>()
  const mock = {
    state,
    calls: [] as string[],
    complaints: [] as string[],
    sent: [] as string[],
    fault: () => null,
  } as unknown as GithubMock

  const install = (): Answer => {
    if (!state.installed)
      return { status: 404, body: { message: 'Not Found', documentation_url: 'https://docs.github.com', status: '404' } }
    return {
      status: 200,
      body: { ...exampleOf('installation'), id: 12, app_id: APP.id, app_slug: APP.slug, permissions: state.permissions },
    }
  }
  const mint = (body: { repository_ids?: number[]; permissions?: Record<string, string> }): Answer => {
    const wanted = body.permissions ?? {}
    const lacking = Object.keys(wanted).filter((name) => (LEVELS[state.permissions[name] ?? ''] ?? 0) < (LEVELS[wanted[name] ?? ''] ?? 9))
    if (lacking.length) return invalid('The permissions requested are not granted to this installation.')
    if (JSON.stringify(body.repository_ids) !== JSON.stringify([REPOSITORY_ID]))
      return invalid('There is at least one repository that does not exist or is not accessible to the parent installation.')
    const token = `ghs_${String(tokens.size).padStart(36, 'x')}`
    tokens.set(token, wanted)
    const { repositories: _repositories, ...example } = exampleOf('installation-token')
    return { status: 201, body: { ...example, token, permissions: wanted, repository_selection: 'selected' } }
  }
  const answer = ({ route, path }: Matched, query: Record<string, string>, body: Record<string, unknown>, token: string): Answer => {
    if (route === INSTALLATION || route === TOKENS) {
      if (!isAppToken(token)) return unauthorized('A JSON web token could not be decoded')
      return route === INSTALLATION ? install() : mint(body)
    }
    const permissions = tokens.get(token)
    if (!permissions) return unauthorized('Bad credentials')
    if (path['owner'] !== OWNER || path['repo'] !== REPO) return { status: 404, body: { message: 'Not Found' } }
    const { needs, handle } = ROUTES[route] ?? { needs: null, handle: () => refused() }
    if (needs && (LEVELS[permissions[needs[0]] ?? ''] ?? 0) < (LEVELS[needs[1]] ?? 9)) return refused()
    return handle(state, { route, path, query, body })
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://localhost')
    const sent = await text(request)
    mock.sent.push(sent)
    const matched = match(request.method ?? '', url.pathname)
    if (!matched) {
      mock.complaints.push(`${request.method} ${url.pathname}: the mock knows no such operation`)
      return void response.writeHead(404).end()
    }
    const { route } = matched
    const query = Object.fromEntries(url.searchParams)
    const body = sent === '' ? undefined : (JSON.parse(sent) as Record<string, unknown>)
    mock.complaints.push(...requestComplaints(matched, query, body).map((complaint) => `${route}: ${complaint}`))
    const fault = mock.fault(route, mock.calls.filter((call) => call === route).length)
    mock.calls.push(route)
    if (fault === 'dropped') return void request.socket.destroy()
    const token = (request.headers.authorization ?? '').replace(/^Bearer /, '')
    const given = fault && fault !== 'lost' ? fault : answer(matched, query, body ?? {}, token)
    mock.complaints.push(...answerComplaints(matched, given.status, given.body).map((complaint) => `${route}: ${complaint}`))
    if (fault === 'lost') return void request.socket.destroy()
    response
      .writeHead(given.status, { 'content-type': 'application/json; charset=utf-8', ...given.headers })
      .end(JSON.stringify(given.body))
  }
  const server = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      mock.complaints.push(`the mock failed: ${String(error)}`)
      response.destroy()
    })
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return Object.assign(mock, {
    url: `http://127.0.0.1:${port}`,
    key: keys.privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  })
}
