/** Answers of the HTTP API (payload format 2.0). Problems are application/problem+json, made from the error catalogue. */
import * as z from 'zod'
import { asLoopError, LoopError } from '../loop/errors.ts'
import { redact } from '../loop/redact.ts'

export interface HttpAnswer {
  statusCode: number
  headers: Record<string, string>
  body: string
}

/** The part of an API Gateway v2 event that is read. */
export const httpEvent = z.object({
  requestContext: z.object({
    http: z.object({ method: z.string(), path: z.string() }),
    authorizer: z.object({ iam: z.object({ userArn: z.string().nullish() }).nullish() }).nullish(),
  }),
  pathParameters: z.record(z.string(), z.string()).nullish(),
  body: z.string().nullish(),
  isBase64Encoded: z.boolean().nullish(),
})
export type HttpEvent = z.infer<typeof httpEvent>

const MOST_BYTES = 64 * 1024

/** Errors: BadRequest when the body is no JSON or too large. */
export const jsonBody = (event: HttpEvent): unknown => {
  const text = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8').toString('utf8')
  if (text.length > MOST_BYTES) throw new LoopError('BadRequest', `The body is over ${MOST_BYTES} bytes.`)
  try {
    return JSON.parse(text)
  } catch {
    throw new LoopError('BadRequest', 'The body is not JSON.')
  }
}

export const json = (statusCode: number, body: unknown, headers: Record<string, string> = {}): HttpAnswer => ({
  statusCode,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

/** Runs the work of one request; what it throws becomes a problem, and nothing of a fault of ours is told outside but its name. */
export const answering = async (work: () => Promise<HttpAnswer>): Promise<HttpAnswer> => {
  try {
    return await work()
  } catch (thrown) {
    const error = asLoopError(thrown)
    const { http, meaning, remedy } = error.entry
    const detail = error.name === 'Unexpected' ? meaning : redact(error.message)
    return json(
      http,
      { type: `urn:reviewloop:error:${error.name}`, title: error.name, status: http, detail, remedy },
      { 'content-type': 'application/problem+json' },
    )
  }
}
