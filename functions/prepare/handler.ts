import { prepare } from '../../lib/loop/prepare.ts'
import type { Invocation, Ports } from '../../lib/loop/ports.ts'
import { parseState } from '../../lib/runtime/event.ts'

/** State Prepare: run state in, run state out. */
export const handler =
  (ports: Pick<Ports, 'runs' | 'artifacts' | 'workspaces' | 'effects' | 'announce' | 'deployment'>) =>
  (event: unknown, invocation: Invocation): Promise<unknown> =>
    prepare(ports, parseState(event), invocation)
