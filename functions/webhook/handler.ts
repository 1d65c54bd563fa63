import * as z from 'zod'
import { LoopError } from '../../lib/loop/errors.ts'
import type { WebhookPorts } from '../../lib/loop/obey-comment.ts'
import { takeDelivery } from '../../lib/loop/webhook.ts'
import { parseEvent } from '../../lib/runtime/event.ts'
import { isSigned } from '../../lib/runtime/hook-signature.ts'
import { answering, json, rawBody, readRequest } from '../../lib/runtime/http.ts'

const about = z.object({ 'x-github-delivery': z.uuid(), 'x-github-event': z.string().min(1).max(100) })

/** The API asks first whether a request is to come in at all. It sees no body then. */
const authorizing = z.object({ type: z.literal('REQUEST'), headers: z.record(z.string(), z.string()) })
const signature = z.string().regex(/^sha256=[0-9a-f]{64}$/)
const isSignedSomehow = ({ headers }: z.infer<typeof authorizing>): boolean =>
  about.safeParse(headers).success && signature.safeParse(headers['x-hub-signature-256']).success

/** More than a pull request's payload ever is, less than what a function is given. */
const MOST_BYTES = 5 * 1024 * 1024

/** POST /webhooks/github: nothing of it is read before its signature was checked. */
export const handler =
  (ports: WebhookPorts, secrets: () => Promise<readonly string[]>) =>
  async (event: unknown): Promise<unknown> => {
    const asked = authorizing.safeParse(event)
    if (asked.success) return { isAuthorized: isSignedSomehow(asked.data) }
    return answering(async () => {
      const request = readRequest(event)
      const body = rawBody(request, MOST_BYTES)
      if (!isSigned(body, request.headers['x-hub-signature-256'], await secrets())) throw new LoopError('BadSignature')
      const headers = parseEvent(about, request.headers)
      const answer = await takeDelivery(ports, { id: headers['x-github-delivery'], event: headers['x-github-event'], body })
      return json(answer.outcome === 'busy' ? 202 : 200, answer)
    }, ports.effects)
  }
