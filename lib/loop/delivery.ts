/** The item of a delivery: who comes second is shown what it came to, and who comes meanwhile that somebody is at it. */
import { LoopError } from './errors.ts'
import type { DeliveryAnswer, DeliveryItem } from './items.ts'
import type { Ports } from './ports.ts'

type DeliveryPorts = Pick<Ports, 'runs' | 'artifacts' | 'effects'>

/** Longer than the function lives. */
const LEASE_MS = 60_000
const KEEP_SECONDS = 30 * 24 * 3600

/** Where the body is kept as it came in. */
const bodyKey = (id: string): string => `deliveries/${id}.json`

const BUSY: DeliveryAnswer = { outcome: 'busy', runId: null, why: 'the same delivery is being worked on' }

/** Errors: StoreConflict where the same id comes with another body; StoreUnavailable; and what `act` throws. */
export const deliverOnce = async (
  ports: DeliveryPorts,
  { id, event, body }: { id: string; event: string; body: Uint8Array },
  act: () => Promise<DeliveryAnswer>,
): Promise<DeliveryAnswer> => {
  const { deliveries } = ports.runs
  const now = ports.effects.now()
  const before = await deliveries.read(id)
  if (before?.answer) return before.answer
  if (before && before.leaseUntil > now) return BUSY
  const claimed: DeliveryItem = {
    id,
    rev: (before?.rev ?? 0) + 1,
    nonce: ports.effects.nonce(),
    event,
    body: bodyKey(id),
    leaseUntil: now + LEASE_MS,
    answer: null,
    at: new Date(now).toISOString(),
    ttl: Math.floor(now / 1000) + KEEP_SECONDS,
  }
  if (!(await deliveries.write(id, claimed))) return BUSY
  const finish = (answer: DeliveryAnswer | null): Promise<boolean> =>
    deliveries.write(id, { ...claimed, rev: claimed.rev + 1, nonce: ports.effects.nonce(), leaseUntil: 0, answer })
  try {
    await ports.artifacts.put(claimed.body, body)
    const answer = await act()
    await finish(answer.outcome === 'refused' ? null : answer)
    return answer
  } catch (thrown) {
    if (!(thrown instanceof LoopError && thrown.name === 'StoreUnavailable')) await finish(null)
    throw thrown
  }
}
