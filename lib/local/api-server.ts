/**
 * The API on the loopback of this machine: the Lambdas' handlers behind the events that API Gateway would send. A web page that a
 * person looks at can reach the loopback too, so a request has to carry the token that was printed at the start, must be meant for
 * this very address (DNS rebinding), and may come from no other origin.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { LoopError } from '../loop/errors.ts'
import type { Ports } from '../loop/ports.ts'
import { API_ROUTES } from '../names.ts'
import { makeCallers } from '../runtime/caller.ts'
import { answering, type HttpAnswer } from '../runtime/http.ts'
import { verifyTokens } from '../runtime/oidc.ts'
import { eventOf, readBytes, routeOf } from './api-event.ts'
import { apiHandlersOf } from './api-handlers.ts'
import { localUploads } from './uploads.ts'

export interface ApiServer {
  /** Without a slash at its end. */
  url: string
  /** What `Authorization: Bearer` has to carry, but for the routes of a CI. */
  token: string
  /** Takes no more requests, and ends those that do nothing. */
  close: () => Promise<void>
}

const hash = (text: string): Buffer => createHash('sha256').update(text).digest()

const refuse = (why: string): never => {
  throw new LoopError('CallerRefused', why, {})
}

/** Errors: CallerRefused for a request that was not meant for this address, or comes from a page of another. */
const checkPlace = ({ headers }: IncomingMessage, port: number): void => {
  const hosts = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${port}`)
  if (!hosts.includes(headers.host ?? '')) refuse('The request names another host than this one.')
  const { origin } = headers
  if (origin !== undefined && !hosts.some((host) => origin === `http://${host}`)) refuse('The request comes from a page of another origin.')
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') refuse('The request comes from a page of another origin.')
}

/** Starts the server on the loopback; `port` 0 takes any that is free. Errors: BadRequest where the port is taken. */
export const serveApi = async (ports: Ports, { port, user }: { port: number; user: string }): Promise<ApiServer> => {
  const token = randomBytes(24).toString('base64url')
  const wanted = hash(`Bearer ${token}`)
  const address = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const uploads = localUploads(ports, address)
  const handlers = apiHandlersOf(ports, makeCallers(ports.deployment, verifyTokens(ports.deployment)), null, uploads)

  const answer = async (request: IncomingMessage): Promise<HttpAnswer> => {
    checkPlace(request, (server.address() as AddressInfo).port)
    const uploaded = await uploads.take(request)
    if (uploaded) return uploaded
    const asked = `http://localhost${request.url}`
    if (!request.url?.startsWith('/') || !URL.canParse(asked)) throw new LoopError('NoSuchRoute', 'The address is no path.')
    const url = new URL(asked)
    const { route } = routeOf(request.method ?? 'GET', url.pathname)
    const { open, function: name } = API_ROUTES[route]
    if (open === 'iam' && !timingSafeEqual(hash(request.headers.authorization ?? ''), wanted))
      throw new LoopError('NotAuthenticated', 'Send the token that was printed at the start as `Authorization: Bearer …`.')
    const event = eventOf(request, { url, body: await readBytes(request), user: open === 'iam' ? user : null })
    return (await handlers[name](event)) as HttpAnswer
  }

  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { statusCode, headers, body, isBase64Encoded } = await answering(() => answer(request), ports.effects)
    response.writeHead(statusCode, request.complete ? headers : { ...headers, connection: 'close' })
    response.end(Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8'))
  }

  const server = createServer((request, response) => {
    // A connection that broke off has nobody left to answer.
    void respond(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => {
      const why = 'code' in cause && cause.code === 'EADDRINUSE' ? 'is taken: name another with --port' : `cannot be used: ${cause.message}`
      reject(new LoopError('BadRequest', `Port ${port} of 127.0.0.1 ${why}.`, {}, { cause }))
    })
    server.listen(port, '127.0.0.1', resolve)
  })
  return {
    url: address(),
    token,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeIdleConnections()
      }),
  }
}
