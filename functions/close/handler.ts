import { close } from '../../lib/loop/close.ts'
import type { Ports } from '../../lib/loop/ports.ts'
import { parseState } from '../../lib/runtime/event.ts'

/** State Close: ends the run, whatever led here. Run state in, run state out. */
export const handler =
  (ports: Pick<Ports, 'runs' | 'sessions' | 'artifacts' | 'effects' | 'announce' | 'notify' | 'deployment'>) =>
  (event: unknown): Promise<unknown> =>
    close(ports, parseState(event))
