import type { Invocation, Ports } from '../../lib/loop/ports.ts'
import { publish } from '../../lib/loop/publish.ts'
import { parseState } from '../../lib/runtime/event.ts'

/** State Publish: the only one that writes to the forge. Run state in, run state out. */
export const handler =
  (ports: Pick<Ports, 'runs' | 'sessions' | 'artifacts' | 'forge' | 'effects'>) =>
  (event: unknown, invocation: Invocation): Promise<unknown> =>
    publish(ports, parseState(event), invocation)
