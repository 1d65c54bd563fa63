import { decideRun } from '../../lib/loop/decide.ts'
import type { Ports } from '../../lib/loop/ports.ts'
import { decisionBody } from '../../lib/loop/requests.ts'
import { runOf } from '../../lib/loop/view.ts'
import type { Callers } from '../../lib/runtime/caller.ts'
import { answering, json, readBody, readRequest, readRunId } from '../../lib/runtime/http.ts'

/** POST /runs/{id}/decision: what a person answers while the run is parked. */
export const handler =
  (ports: Pick<Ports, 'runs' | 'artifacts' | 'executions' | 'effects'>, callers: Callers) =>
  (event: unknown): Promise<unknown> =>
    answering(async () => {
      const request = readRequest(event)
      const { name } = await callers(request)
      const { question, answer } = readBody(decisionBody, request)
      return json(200, runOf(await decideRun(ports, readRunId(request), { question, answer, by: name })))
    }, ports.effects)
