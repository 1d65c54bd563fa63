import { fix } from '../../lib/loop/fix.ts'
import type { Invocation } from '../../lib/loop/ports.ts'
import type { TurnPorts } from '../../lib/loop/review.ts'
import { parseState } from '../../lib/runtime/event.ts'

/** State Fix: one turn of the fixer. Run state in, run state out. */
export const handler =
  (ports: TurnPorts) =>
  (event: unknown, invocation: Invocation): Promise<unknown> =>
    fix(ports, parseState(event), invocation)
