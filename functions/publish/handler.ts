import * as z from 'zod'
import type { Invocation, Ports } from '../../lib/loop/ports.ts'
import { publish } from '../../lib/loop/publish.ts'
import { runId } from '../../lib/loop/run.ts'
import { tell, tellAside } from '../../lib/loop/tell.ts'
import { parseState } from '../../lib/runtime/event.ts'

/** What the other functions send when there is something to tell. */
const tellEvent = z.object({ tell: runId, begun: z.boolean().default(false) })

/** State Publish, the only one that writes to the forge: run state in, run state out. And the event that has the forge told how a run stands. */
export const handler =
  (ports: Pick<Ports, 'runs' | 'sessions' | 'artifacts' | 'workspaces' | 'forge' | 'teller' | 'effects' | 'deployment'>) =>
  async (event: unknown, invocation: Invocation): Promise<unknown> => {
    const telling = tellEvent.safeParse(event)
    if (telling.success) {
      await tell(ports, { runId: telling.data.tell, begun: telling.data.begun }, invocation)
      return {}
    }
    const state = await publish(ports, parseState(event), invocation)
    await tellAside(ports, { runId: state.runId, begun: true }, invocation)
    return state
  }
