/** Calls of a deployment's API, signed with the caller's AWS credentials (SigV4, service execute-api). */
import { Sha256 } from '@aws-crypto/sha256-js'
import { defaultProvider } from '@aws-sdk/credential-provider-node'
import { SignatureV4 } from '@smithy/signature-v4'
import * as z from 'zod'
import { isErrorName, LoopError } from '../../lib/loop/errors.ts'
import { oneLine } from '../../lib/loop/redact.ts'

const TIMEOUT_MS = 35_000

const problem = z.object({ title: z.string(), detail: z.string().optional() })

type Env = Readonly<Record<string, string | undefined>>

/** Base address of a deployment. https, or plain http on the loopback. Errors: BadRequest. */
export const parseRemote = (text: string): URL => {
  const url = URL.canParse(text) ? new URL(text) : null
  const loopback = url && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
  if (!url || (url.protocol !== 'https:' && !(url.protocol === 'http:' && loopback)))
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

/** Sends one request and gives the JSON of the answer. Errors: the row that the API answers with, BadRequest, StoreUnavailable. */
export const callRemote = async (base: URL, method: 'GET' | 'POST', path: string, body?: unknown): Promise<unknown> => {
  const credentials = await credentialsOf()
  const signer = new SignatureV4({ service: 'execute-api', region: regionOf(base), credentials, sha256: Sha256 })
  const fullPath = `${base.pathname.replace(/\/+$/, '')}${path}`
  const text = body === undefined ? undefined : JSON.stringify(body)
  const signed = await signer.sign({
    method,
    protocol: base.protocol,
    hostname: base.hostname,
    ...(base.port ? { port: Number(base.port) } : {}),
    path: fullPath,
    query: {},
    headers: { host: base.host, accept: 'application/json', ...(text === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(text === undefined ? {} : { body: text }),
  })
  const { host: _host, ...headers } = signed.headers
  const answer = await fetch(new URL(fullPath, base), {
    method,
    headers,
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
    ...(text === undefined ? {} : { body: text }),
  }).catch((cause: unknown) => {
    throw new LoopError('StoreUnavailable', `${base.host} did not answer: ${reason(cause)}.`, {}, { cause })
  })
  return readAnswer(base, answer)
}

const credentialsOf = async () => {
  const provider = defaultProvider()
  return provider().catch((cause: unknown) => {
    throw new LoopError('BadRequest', `No AWS credentials were found: ${reason(cause)}`, {}, { cause })
  })
}

const reason = (cause: unknown): string =>
  oneLine(cause instanceof Error ? (cause.cause instanceof Error ? cause.cause.message : cause.message) : String(cause))

const readAnswer = async (base: URL, answer: Response): Promise<unknown> => {
  const text = await answer.text()
  let json: unknown = null
  try {
    json = JSON.parse(text)
  } catch {
    throw new LoopError('StoreUnavailable', `${base.host} answered ${answer.status} with something that is not JSON.`)
  }
  if (answer.ok) return json
  const known = problem.safeParse(json)
  if (known.success && isErrorName(known.data.title)) throw new LoopError(known.data.title, known.data.detail)
  if (answer.status === 401 || answer.status === 403)
    throw new LoopError('BadRequest', `${base.host} refused the signature (${answer.status}): the credentials may not call this API.`)
  throw new LoopError('StoreUnavailable', `${base.host} answered ${answer.status}.`)
}
