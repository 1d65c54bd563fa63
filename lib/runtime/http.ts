/** Requests and answers of the HTTP API (payload format 2.0). Problems are application/problem+json, made from the error catalogue. */
import * as z from 'zod'
import { asLoopError, LoopError } from '../loop/errors.ts'
import { firstIssue } from '../loop/issue.ts'
import type { Effects } from '../loop/ports.ts'
import { redact } from '../loop/redact.ts'
import { runId } from '../loop/run.ts'

export interface HttpAnswer {
  statusCode: number
  headers: Record<string, string>
  body: string
  isBase64Encoded?: boolean
}

const texts = z
  .record(z.string(), z.string().optional())
  .nullish()
  .transform((given) => given ?? {})

/** The part of an API Gateway v2 event that is read. */
const httpEvent = z.object({
  /** `GET /runs/{id}`: the route as it was declared. */
  routeKey: z.string(),
  /** By names in lower case. */
  headers: texts,
  queryStringParameters: texts,
  pathParameters: texts,
  requestContext: z.object({
    authorizer: z.object({ iam: z.object({ userArn: z.string().nullish() }).nullish() }).nullish(),
  }),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().nullish(),
})
export type HttpEvent = z.infer<typeof httpEvent>

const MOST_BYTES = 512 * 1024

const check = <T>(what: string, schema: z.ZodType<T>, value: unknown): T => {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new LoopError('BadRequest', `${what}: ${firstIssue(parsed.error)}.`)
}

/** Errors: BadRequest. */
export const readRequest = (event: unknown): HttpEvent => check('The event is not valid', httpEvent, event)

/** The bytes as they were sent. Errors: PayloadTooLarge. */
export const rawBody = (event: Pick<HttpEvent, 'body' | 'isBase64Encoded'>, most: number): Uint8Array => {
  const bytes = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8')
  if (bytes.length > most) throw new LoopError('PayloadTooLarge', `The body is over ${most} bytes.`)
  return bytes
}

/** Errors: BadRequest when the body is no JSON, too large, or not what the schema says. */
export const readBody = <T>(schema: z.ZodType<T>, request: HttpEvent): T => {
  const bytes = Buffer.from(request.body ?? '', request.isBase64Encoded ? 'base64' : 'utf8')
  if (bytes.length > MOST_BYTES) throw new LoopError('BadRequest', `The body is over ${MOST_BYTES} bytes.`)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw new LoopError('BadRequest', 'The body is not JSON.')
  }
  return check('The body is not valid', schema, value)
}

/** Errors: BadRequest. */
export const readQuery = <T>(schema: z.ZodType<T>, request: HttpEvent): T =>
  check('A parameter is not valid', schema, request.queryStringParameters)

/** The run of the path. Errors: RunNotFound where it is no run's id. */
export const readRunId = (request: HttpEvent): string => {
  const id = runId.safeParse(request.pathParameters['id'])
  if (!id.success) throw new LoopError('RunNotFound', 'A run id is r- and 16 hexadecimal digits.')
  return id.data
}

/** What is answered is about runs, for one caller, and never a page to be shown. */
const SAFE = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }

export const json = (statusCode: number, body: unknown, headers: Record<string, string> = {}): HttpAnswer => ({
  statusCode,
  headers: { 'content-type': 'application/json', ...SAFE, ...headers },
  body: JSON.stringify(body),
})

export const bytes = (statusCode: number, body: Uint8Array, contentType: string): HttpAnswer => ({
  statusCode,
  headers: { 'content-type': contentType, ...SAFE },
  body: Buffer.from(body).toString('base64'),
  isBase64Encoded: true,
})

export const redirect = (location: string): HttpAnswer => ({ statusCode: 303, headers: { location, ...SAFE }, body: '' })

/** What was thrown, as a problem: nothing of a fault of ours is told outside but its name. */
const problem = (error: LoopError): HttpAnswer => {
  const { http, meaning, remedy } = error.entry
  const detail = error.name === 'Unexpected' ? meaning : redact(error.message)
  return json(
    http,
    { type: `urn:reviewloop:error:${error.name}`, title: error.name, status: http, detail, remedy },
    { 'content-type': 'application/problem+json', ...(http === 401 ? { 'www-authenticate': 'Bearer' } : {}) },
  )
}

/** Runs the work of one request; what it throws becomes a problem, and is logged where it is a fault. */
export const answering = async (work: () => Promise<HttpAnswer>, effects?: Pick<Effects, 'log'>): Promise<HttpAnswer> => {
  try {
    return await work()
  } catch (thrown) {
    const error = asLoopError(thrown)
    const level = error.entry.http >= 500 ? 'error' : 'info'
    effects?.log(level, `${error.name}: ${error.message}`, { error: error.name, class: error.entry.class })
    return problem(error)
  }
}
