import { decide } from '../../lib/loop/decide.ts'
import type { Ports } from '../../lib/loop/ports.ts'
import { parseState } from '../../lib/runtime/event.ts'

/** State Decide: acts on what the run item says was decided. Run state in, run state out. */
export const handler =
  (ports: Pick<Ports, 'runs' | 'artifacts' | 'effects' | 'announce'>) =>
  (event: unknown): Promise<unknown> =>
    decide(ports, parseState(event))
