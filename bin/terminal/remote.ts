/** Calls of a deployment's API, signed with the caller's AWS credentials (SigV4, service execute-api). */
import { Sha256 } from '@aws-crypto/sha256-js'
import { defaultProvider } from '@aws-sdk/credential-provider-node'
import { SignatureV4 } from '@smithy/signature-v4'
import * as z from 'zod'
import { isErrorName, LoopError } from '../../lib/loop/errors.ts'
import { oneLine } from '../../lib/loop/redact.ts'
import { ENV } from '../../lib/names.ts'

const TIMEOUT_MS = 35_000

const problem = z.object({ title: z.string(), detail: z.string().optional() })

type Env = Readonly<Record<string, string | undefined>>

const isSafe = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname))

/** Base address of a deployment. https, or plain http on the loopback. Errors: BadRequest. */
export const parseRemote = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : null
  if (!url || !isSafe(url))
    throw new LoopError('BadRequest', `--remote takes the https address of the deployment's API, not ${JSON.stringify(text)}.`)
  if (url.username || url.password) throw new LoopError('BadRequest', '--remote takes an address without a credential in it.')
  return url
}

/** The region in an address of API Gateway, else that of the environment. Errors: BadRequest. */
export const regionOf = (url: URL, env: Env = process.env): string => {
  const region = /\.execute-api\.([a-z0-9-]+)\./.exec(url.hostname)?.[1] ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION']
  if (!region) throw new LoopError('BadRequest', `The region of ${url.host} is not in its name: set AWS_REGION.`)
  return region
}

export interface RemoteCall {
  body?: unknown
  query?: Record<string, string | undefined>
  accept?: string
}

/** A service of this machine takes the token that it printed; it is sent nowhere else. */
const ownToken = (base: URL, env: Env = process.env): string | null => (base.protocol === 'http:' && env[ENV.remoteToken]) || null

const signedHeaders = async (base: URL, url: URL, method: string, headers: Record<string, string>, body: string | undefined) => {
  const token = ownToken(base)
  if (token) return { ...headers, authorization: `Bearer ${token}` }
  const credentials = await credentialsOf()
  const signer = new SignatureV4({ service: 'execute-api', region: regionOf(base), credentials, sha256: Sha256 })
  const signed = await signer.sign({
    method,
    protocol: base.protocol,
    hostname: base.hostname,
    ...(base.port ? { port: Number(base.port) } : {}),
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: { host: base.host, ...headers },
    ...(body === undefined ? {} : { body }),
  })
  const { host: _host, ...rest } = signed.headers
  return rest
}

const fetched = (url: URL, options: RequestInit): Promise<Response> =>
  fetch(url, { ...options, signal: AbortSignal.timeout(TIMEOUT_MS) }).catch((cause: unknown) => {
    throw new LoopError('StoreUnavailable', `${url.host} did not answer: ${reason(cause)}.`, {}, { cause })
  })

/** What is too large for the API lies elsewhere, and is fetched from there without a credential. */
const followed = async (answer: Response): Promise<Response> => {
  const location = answer.headers.get('location')
  if (answer.status !== 303 || !location) return answer
  const url = URL.canParse(location) ? new URL(location) : null
  if (!url || !isSafe(url)) throw new LoopError('StoreUnavailable', 'The API leads to an address that is not https.')
  return fetched(url, { redirect: 'error' })
}

/** Spelled as a signature spells it: a space is %20, and nothing is left as it is but letters, digits and `-_.~`. */
const spelled = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
const queryOf = (query: NonNullable<RemoteCall['query']>): string =>
  Object.entries(query)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${spelled(name)}=${spelled(value)}`]))
    .join('&')

/** Sends one request and gives the text of the answer. Errors: the row that the API answers with, BadRequest, StoreUnavailable. */
export const fetchRemote = async (base: URL, method: 'GET' | 'POST', path: string, call: RemoteCall = {}): Promise<string> => {
  const url = new URL(`${base.pathname.replace(/\/+$/, '')}${path}`, base)
  url.search = queryOf(call.query ?? {})
  const body = call.body === undefined ? undefined : JSON.stringify(call.body)
  const plain = { accept: call.accept ?? 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  const headers = await signedHeaders(base, url, method, plain, body)
  const answer = await followed(await fetched(url, { method, headers, redirect: 'manual', ...(body === undefined ? {} : { body }) }))
  const text = await answer.text()
  if (answer.ok) return text
  throw refusal(base, answer.status, text)
}

/** As `fetchRemote`, and gives the JSON of the answer. */
export const callRemote = async (base: URL, method: 'GET' | 'POST', path: string, body?: unknown): Promise<unknown> =>
  parsed(base, 200, await fetchRemote(base, method, path, { body }))

/** Whose credentials a call would be signed with, for people. Errors: BadRequest where there are none, or no region. */
export const callerOf = async (base: URL): Promise<string> => {
  if (ownToken(base)) return `the token in ${ENV.remoteToken}`
  const { accessKeyId, expiration } = await credentialsOf()
  return `access key ${accessKeyId.slice(0, 4)}…${accessKeyId.slice(-4)}, region ${regionOf(base)}${expiration ? `, until ${expiration.toISOString()}` : ''}`
}

const credentialsOf = async () => {
  const provider = defaultProvider()
  return provider().catch((cause: unknown) => {
    throw new LoopError('BadRequest', `No AWS credentials were found: ${reason(cause)}`, {}, { cause })
  })
}

const reason = (cause: unknown): string =>
  oneLine(cause instanceof Error ? (cause.cause instanceof Error ? cause.cause.message : cause.message) : String(cause))

const parsed = (base: URL, status: number, text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    throw new LoopError('StoreUnavailable', `${base.host} answered ${status} with something that is not JSON.`)
  }
}

const refusal = (base: URL, status: number, text: string): LoopError => {
  const known = problem.safeParse(parsed(base, status, text))
  if (known.success && isErrorName(known.data.title)) return new LoopError(known.data.title, known.data.detail)
  if (status === 401 || status === 403)
    return new LoopError('BadRequest', `${base.host} refused the signature (${status}): the credentials may not call this API.`)
  return new LoopError('StoreUnavailable', `${base.host} answered ${status}.`)
}
