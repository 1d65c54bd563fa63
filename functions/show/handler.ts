import openapi from '../../docs/openapi.json' with { type: 'json' }
import type { HealthAnswer } from '../../lib/loop/api.ts'
import { assertOwnRun } from '../../lib/loop/ci-claims.ts'
import { readRun } from '../../lib/loop/current-run.ts'
import type { Ports } from '../../lib/loop/ports.ts'
import { redactAll } from '../../lib/loop/redact.ts'
import { listQuery } from '../../lib/loop/requests.ts'
import { viewOf } from '../../lib/loop/view.ts'
import type { Caller, Callers } from '../../lib/runtime/caller.ts'
import { answering, type HttpEvent, json, readQuery, readRequest, readRunId } from '../../lib/runtime/http.ts'

type ShowPorts = Pick<Ports, 'runs' | 'deployment' | 'effects'>

const health = ({ stage, repositories }: Ports['deployment']): HealthAnswer => ({
  version: 1,
  status: 'ok',
  stage,
  repositories: repositories.map(({ url }) => url),
})

const show = async (ports: ShowPorts, request: HttpEvent, { job }: Caller): Promise<unknown> => {
  if (request.routeKey === 'GET /health') return health(ports.deployment)
  if (request.routeKey === 'GET /openapi.json') return openapi
  if (request.routeKey === 'GET /runs') return redactAll({ version: 1, ...(await ports.runs.page(readQuery(listQuery, request))) })
  const run = await readRun(ports.runs, readRunId(request))
  if (job) assertOwnRun(job, run)
  const [turns, forge] = await Promise.all([ports.runs.turns(run.runId), ports.runs.forges.read(run.runId)])
  return viewOf(run, turns, forge)
}

/** What only reads the table: GET /runs, GET /runs/{id} for people and CI jobs, GET /health, GET /openapi.json. */
export const handler =
  (ports: ShowPorts, callers: Callers) =>
  (event: unknown): Promise<unknown> =>
    answering(async () => {
      const request = readRequest(event)
      return json(200, await show(ports, request, await callers(request)))
    }, ports.effects)
