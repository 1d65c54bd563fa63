/** The API over ports of a test: the handlers of its functions, called by route, and every answer held to the API's description. */
import { handler as abort } from '../../functions/abort/handler.ts'
import { handler as answer } from '../../functions/answer/handler.ts'
import { handler as report } from '../../functions/report/handler.ts'
import { handler as show } from '../../functions/show/handler.ts'
import { handler as start } from '../../functions/start/handler.ts'
import type { ArtifactLinks, Ports } from '../../lib/loop/ports.ts'
import { API_ROUTES, type ApiRoute } from '../../lib/names.ts'
import { makeCallers } from '../../lib/runtime/caller.ts'
import { verifyTokens } from '../../lib/runtime/oidc.ts'
import { answered, type Answered, apiEvent, type Call } from './http.ts'

export type Api = (route: ApiRoute, call?: Call) => Promise<Answered>

export const apiOf = (ports: Ports, links: ArtifactLinks | null = null): Api => {
  const callers = makeCallers(ports.deployment, verifyTokens(ports.deployment))
  const handlers = {
    Start: start(ports, callers),
    Show: show(ports, callers),
    Report: report(ports, callers, links),
    Answer: answer(ports, callers),
    Abort: abort(ports, callers),
  }
  return async (route, call) => answered(route, await handlers[API_ROUTES[route].function](apiEvent(route, call)))
}
