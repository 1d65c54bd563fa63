/** A request of Node as the event that API Gateway makes of it (HTTP API, payload format 2.0). */
import type { IncomingMessage } from 'node:http'
import { LoopError } from '../loop/errors.ts'
import { API_ROUTES, type ApiRoute } from '../names.ts'

const ROUTES = (Object.keys(API_ROUTES) as ApiRoute[]).map((route) => {
  const [method = '', path = ''] = route.split(' ')
  const pattern = path.replaceAll(/[.]/g, '\\.').replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')
  return { route, method, pattern: new RegExp(`^${pattern}$`) }
})

/** The route of a request, with what its path names. Errors: NoSuchRoute. */
export const routeOf = (method: string, path: string): { route: ApiRoute; pathParameters: Record<string, string> } => {
  for (const { route, method: of, pattern } of ROUTES) {
    const match = method === of ? pattern.exec(path) : null
    if (match) return { route, pathParameters: { ...match.groups } }
  }
  throw new LoopError('NoSuchRoute', `There is no ${method} ${path.slice(0, 200)}.`)
}

const MOST_BYTES = 1024 * 1024

/** Errors: BadRequest over a megabyte. */
export const readBytes = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MOST_BYTES) throw new LoopError('BadRequest', `The body is over ${MOST_BYTES} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const joined = (entries: Iterable<[string, string]>): Record<string, string> => {
  const values: Record<string, string> = {}
  for (const [name, value] of entries) values[name] = values[name] === undefined ? value : `${values[name]},${value}`
  return values
}

/** `user`: the person at this machine, where the request has proved to be theirs. */
export const eventOf = (
  request: IncomingMessage,
  { url, body, user }: { url: URL; body: Buffer; user: string | null },
): Record<string, unknown> => {
  const method = request.method ?? 'GET'
  const { route, pathParameters } = routeOf(method, url.pathname)
  const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [name, [value].flat().join(',')])
  return {
    version: '2.0',
    routeKey: route,
    rawPath: url.pathname,
    rawQueryString: url.search.slice(1),
    headers: Object.fromEntries(headers),
    queryStringParameters: joined(url.searchParams),
    pathParameters,
    requestContext: { http: { method, path: url.pathname }, ...(user === null ? {} : { authorizer: { iam: { userArn: user } } }) },
    body: body.toString('base64'),
    isBase64Encoded: true,
  }
}
