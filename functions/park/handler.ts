import * as z from 'zod'
import { park } from '../../lib/loop/park.ts'
import type { Ports } from '../../lib/loop/ports.ts'
import { runState } from '../../lib/loop/run.ts'
import { parseEvent } from '../../lib/runtime/event.ts'

const parkEvent = z.object({ state: z.object(runState.shape), token: z.string().min(1) })

/** State Park: stores the question and the task token; the execution waits. */
export const handler =
  (ports: Pick<Ports, 'runs' | 'sessions' | 'artifacts' | 'effects' | 'executions' | 'announce' | 'notify'>) =>
  async (event: unknown): Promise<unknown> => {
    const { state, token } = parseEvent(parkEvent, event)
    await park(ports, state, token)
    return {}
  }
