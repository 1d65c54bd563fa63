import * as z from 'zod'
import type { Ports } from '../../lib/loop/ports.ts'
import { recordFailure, recordLostExecution } from '../../lib/loop/record-failure.ts'
import { stateWithError } from '../../lib/loop/run.ts'
import { parseEvent } from '../../lib/runtime/event.ts'

/** EventBridge's "Step Functions Execution Status Change": an end that no Catch could see. */
const statusChange = z.object({
  detail: z.object({ name: z.string(), status: z.string(), error: z.string().nullish(), cause: z.string().nullish() }),
})

/** State RecordFailure, and the target of the rule for ends that no Catch sees. */
export const handler =
  (ports: Pick<Ports, 'runs' | 'sessions' | 'executions' | 'effects' | 'announce'>) =>
  (event: unknown): Promise<unknown> => {
    const change = statusChange.safeParse(event)
    if (!change.success) return recordFailure(ports, parseEvent(stateWithError, event))
    const { name, status, error, cause } = change.data.detail
    return recordLostExecution(ports, { name, status, error: error ?? undefined, cause: cause ?? undefined })
  }
