/** The API over ports of a test, called by route; every answer is held to the API's description. */
import { apiHandlersOf } from '../../lib/local/api-handlers.ts'
import type { ArtifactLinks, Ports } from '../../lib/loop/ports.ts'
import { API_ROUTES, type ApiRoute } from '../../lib/names.ts'
import { makeCallers } from '../../lib/runtime/caller.ts'
import { verifyTokens } from '../../lib/runtime/oidc.ts'
import { answered, type Answered, apiEvent, type Call } from './http.ts'

export type Api = (route: ApiRoute, call?: Call) => Promise<Answered>

export const apiOf = (ports: Ports, links: ArtifactLinks | null = null): Api => {
  const handlers = apiHandlersOf(ports, makeCallers(ports.deployment, verifyTokens(ports.deployment)), links)
  return async (route, call) => answered(route, await handlers[API_ROUTES[route].function](apiEvent(route, call)))
}
