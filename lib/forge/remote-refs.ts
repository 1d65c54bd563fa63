/** The head of a branch, asked over HTTP: for functions that have no git. */
import { request as requestHttp, type IncomingMessage } from 'node:http'
import { request as requestHttps, type RequestOptions } from 'node:https'
import { LoopError } from '../loop/errors.ts'
import type { Forge } from '../loop/ports.ts'
import { authorization, branchRef, parseAddress, tokenFor, type TokenSource } from '../workspace/address.ts'
import { refReader } from './pkt-line.ts'

const MAX_BYTES = 64 * 1024 * 1024
const DEADLINE_MS = 20_000
const MAX_REDIRECTS = 3

export interface RemoteHeadsOptions {
  /** Certificates to trust besides the system's, PEM. */
  ca?: string
  /** Until when the server has to have answered, ms. */
  timeout?: number
}

const failed = (url: URL, why: string, cause?: unknown): LoopError => new LoopError('FetchFailed', `${url.host}: ${why}`, {}, { cause })

const respond = (url: URL, options: RequestOptions): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps : requestHttp
    request(url.href, options, resolve)
      .on('error', (error: NodeJS.ErrnoException) => {
        const why = options.signal?.aborted ? 'did not answer in time' : `could not be reached (${error.code ?? 'no connection'})`
        reject(failed(url, why, error))
      })
      .end()
  })

/** Where a redirect leads: the same server only, because the token goes with it. */
const redirected = (from: URL, response: IncomingMessage): URL => {
  const location = response.headers.location
  const to = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from) : null
  if (to?.origin === from.origin) return to
  throw new LoopError('FetchRefused', `${from.host} answers with the address of another server: use that one`)
}

const statusError = (url: URL, status: number): LoopError => {
  if (status === 401 || status === 403) return new LoopError('FetchRefused', `${url.host} did not accept the credential, or wants one`)
  if (status === 404 || status === 410)
    return new LoopError('FetchRefused', `${url.host}${url.pathname.replace(/\/info\/refs$/, '')} was not found`)
  return failed(url, `answered ${status}`)
}

const readRef = async (url: URL, response: IncomingMessage, ref: string, signal: AbortSignal): Promise<string | null> => {
  const reader = refReader(ref)
  let bytes = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length
      if (bytes > MAX_BYTES) throw failed(url, `its list of branches is over ${MAX_BYTES} bytes`)
      if (reader.push(chunk)) break
    }
  } catch (error) {
    if (error instanceof LoopError) throw error
    throw failed(url, signal.aborted ? 'did not answer in time' : 'broke off its answer', error)
  } finally {
    response.destroy()
  }
  return reader.end()
}

/** Commit at the tip of a branch, by the list of refs that every git server gives. */
const branchHead = async (url: URL, branch: string, token: string | null, options: RemoteHeadsOptions): Promise<string | null> => {
  const ref = branchRef(branch)
  const signal = AbortSignal.timeout(options.timeout ?? DEADLINE_MS)
  const headers = { 'user-agent': 'git/reviewloop', accept: '*/*', ...(token === null ? {} : { authorization: authorization(token) }) }
  let at = new URL(`${url.href.replace(/\/+$/, '')}/info/refs?service=git-upload-pack`)
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await respond(at, { headers, signal, ...(options.ca === undefined ? {} : { ca: options.ca }) })
    const status = response.statusCode ?? 0
    if (status === 200) return readRef(at, response, ref, signal)
    response.destroy()
    if (status < 300 || status >= 400) throw statusError(at, status)
    at = redirected(at, response)
  }
  throw failed(at, 'redirects again and again')
}

/**
 * A forge that knows the heads of branches, and that alone. Errors of `branchHead`: BadRequest (no https URL, no branch name),
 * FetchRefused, FetchFailed.
 */
export const remoteHeads = (token: TokenSource, options: RemoteHeadsOptions = {}): Pick<Forge, 'branchHead'> => ({
  branchHead: async (repository, branch) => {
    const address = parseAddress(repository)
    if (address.kind === 'path') throw new LoopError('BadRequest', `repository: ${repository} is a folder, not an https URL`)
    return branchHead(address.url, branch, await tokenFor(address.url, token), options)
  },
})
