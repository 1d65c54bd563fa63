import { review, type TurnPorts } from '../../lib/loop/review.ts'
import type { Invocation } from '../../lib/loop/ports.ts'
import { parseState } from '../../lib/runtime/event.ts'

/** State Review: one turn of the reviewer. Run state in, run state out. */
export const handler =
  (ports: TurnPorts) =>
  (event: unknown, invocation: Invocation): Promise<unknown> =>
    review(ports, parseState(event), invocation)
