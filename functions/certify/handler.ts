import { certify, type TurnPorts } from '../../lib/loop/review.ts'
import type { Invocation } from '../../lib/loop/ports.ts'
import { parseState } from '../../lib/runtime/event.ts'

/** State Certify: one turn of a reviewer without a session. Run state in, run state out. */
export const handler =
  (ports: TurnPorts) =>
  (event: unknown, invocation: Invocation): Promise<unknown> =>
    certify(ports, parseState(event), invocation)
