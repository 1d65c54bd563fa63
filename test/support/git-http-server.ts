/** A git server for tests: real `git http-backend` behind a loopback HTTP or HTTPS server. */
import { spawn } from 'node:child_process'
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo } from 'node:net'
import { selfSigned } from './self-signed.ts'

export interface GitServerOptions {
  /** Folder whose repositories are served. */
  root: string
  /** The value of the Authorization header without which the server answers 401. */
  authorization?: string
  /** Serves https, with a certificate of its own. */
  secure?: boolean
  /** Answers a request itself: true when it has. Stands before everything else. */
  intercept?: (request: IncomingMessage, response: ServerResponse) => boolean | Promise<boolean>
  /** Further environment of git http-backend. */
  env?: Record<string, string>
}

export interface GitServer {
  /** Without a slash at its end. */
  url: string
  /** PEM of the certificate, for https. */
  certificate: string
  /** Method and path of every request, and its Authorization header. */
  requests: { line: string; authorization: string | undefined }[]
  close(): Promise<void>
}

const backend = (root: string, request: IncomingMessage, response: ServerResponse, more: Record<string, string>): void => {
  const url = new URL(request.url ?? '/', 'http://localhost')
  const child = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env['PATH'],
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      REMOTE_USER: 'tester',
      REMOTE_ADDR: '127.0.0.1',
      REQUEST_METHOD: request.method,
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      GIT_PROTOCOL: String(request.headers['git-protocol'] ?? ''),
      ...more,
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  child.stdin.on('error', () => undefined)
  request.pipe(child.stdin)
  let head = Buffer.alloc(0)
  let opened = false
  child.stdout.on('data', (chunk: Buffer) => {
    if (opened) return void response.write(chunk)
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end < 0) return
    const headers = head
      .toString('latin1', 0, end)
      .split('\r\n')
      .map((line) => line.split(/: (.*)/s))
    const status = headers.find(([name]) => name === 'Status')?.[1] ?? '200'
    response.writeHead(
      Number.parseInt(status, 10),
      Object.fromEntries(headers.filter(([name]) => name !== 'Status')) as Record<string, string>,
    )
    response.write(head.subarray(end + 4))
    opened = true
  })
  child.on('close', () => (opened ? response.end() : response.writeHead(500).end()))
}

/** Starts a server on a free port of this machine. */
export const serveGit = async (options: GitServerOptions): Promise<GitServer> => {
  const requests: GitServer['requests'] = []
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    requests.push({ line: `${request.method} ${request.url}`, authorization: request.headers.authorization })
    if (await options.intercept?.(request, response)) return
    if (options.authorization !== undefined && request.headers.authorization !== options.authorization) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    backend(options.root, request, response, options.env ?? {})
  }
  const listener = (request: IncomingMessage, response: ServerResponse): void => void answer(request, response)
  const identity = options.secure ? selfSigned() : null
  const server = identity ? createHttps({ key: identity.key, cert: identity.certificate }, listener) : createHttp(listener)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `${identity ? 'https' : 'http'}://localhost:${port}`,
    certificate: identity?.certificate ?? '',
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
