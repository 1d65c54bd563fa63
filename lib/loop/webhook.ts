/** A delivery of a webhook: it happens once, and what it came to is kept, so that the same delivery again is answered alike. */
import { deliverOnce } from './delivery.ts'
import { startFromDoor } from './door.ts'
import { asLoopError, LoopError } from './errors.ts'
import { byName, type Intent, intentOf } from './hook.ts'
import type { DeliveryAnswer } from './items.ts'
import { obeyComment, type WebhookPorts } from './obey-comment.ts'
import { redact } from './redact.ts'

export interface Delivery {
  /** The forge's own id of it: the same again is the same delivery. */
  id: string
  event: string
  /** As it came in, signature checked. */
  body: Uint8Array
}

/**
 * Does what the delivery asks for. What is refused is not kept: made again it is looked at again.
 * Errors: BadRequest, RepositoryNotAllowed, PayloadTooLarge; FetchFailed, StoreConflict, StoreUnavailable, after which it may be made again.
 */
export const takeDelivery = async (ports: WebhookPorts, delivery: Delivery): Promise<DeliveryAnswer> => {
  const intent = intentOf(ports.deployment, delivery.event, jsonOf(delivery.body))
  return deliverOnce(ports, delivery, () => act(ports, intent))
}

const jsonOf = (body: Uint8Array): unknown => {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch (cause) {
    throw new LoopError('BadRequest', 'The body of the delivery is not JSON.', {}, { cause })
  }
}

const act = async (ports: WebhookPorts, intent: Intent): Promise<DeliveryAnswer> => {
  if (intent.kind === 'ignore') return { outcome: 'ignored', runId: null, why: intent.why }
  try {
    return intent.kind === 'comment' ? await obeyComment(ports, intent) : await start(ports, intent)
  } catch (thrown) {
    const error = asLoopError(thrown)
    if (error.entry.class !== 'user') throw thrown
    return { outcome: 'refused', runId: null, why: `${error.name}: ${redact(error.message)}` }
  }
}

const start = async (ports: WebhookPorts, intent: Extract<Intent, { kind: 'start' }>): Promise<DeliveryAnswer> => {
  const { repository, branch, base, head, again, by } = intent
  const body = { repository: repository.url, branch, head, again, ...(base === undefined ? {} : { base }) }
  const { run, started } = await startFromDoor(ports, { body, startedBy: byName(by) })
  return { outcome: started ? 'started' : 'known', runId: run.runId, why: null }
}
