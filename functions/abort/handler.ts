import { abortRun } from '../../lib/loop/end-run.ts'
import type { Ports } from '../../lib/loop/ports.ts'
import { runOf } from '../../lib/loop/view.ts'
import type { Callers } from '../../lib/runtime/caller.ts'
import { answering, json, readRequest, readRunId } from '../../lib/runtime/http.ts'

/** POST /runs/{id}/abort: ends a run; its fix commits are kept as a patch. */
export const handler =
  (ports: Pick<Ports, 'runs' | 'sessions' | 'executions' | 'effects'>, callers: Callers) =>
  (event: unknown): Promise<unknown> =>
    answering(async () => {
      const request = readRequest(event)
      const { name } = await callers(request)
      return json(200, runOf(await abortRun(ports, readRunId(request), name)))
    }, ports.effects)
