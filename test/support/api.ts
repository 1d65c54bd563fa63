/** The API over ports of a test, called by route; every answer is held to the API's description. */
import { apiHandlersOf } from '../../lib/local/api-handlers.ts'
import type { ArtifactLinks, Ports, UploadOffers } from '../../lib/loop/ports.ts'
import { API_ROUTES, type ApiRoute } from '../../lib/names.ts'
import { makeCallers } from '../../lib/runtime/caller.ts'
import { verifyTokens } from '../../lib/runtime/oidc.ts'
import { answered, type Answered, apiEvent, type Call } from './http.ts'

export type Api = (route: ApiRoute, call?: Call) => Promise<Answered>

/** Offers an address for everything that it is asked for, and puts an object of that name there as whoever uploads it would. */
export const uploadsInto = (ports: Pick<Ports, 'artifacts'>): UploadOffers => ({
  offer: async ({ key, bytes }) => {
    await ports.artifacts.put(key, new Uint8Array(bytes))
    return { url: `https://bucket.example/${key}`, headers: { 'content-length': String(bytes) }, expiresAt: '2026-01-05T09:15:00.000Z' }
  },
})

export const apiOf = (ports: Ports, links: ArtifactLinks | null = null): Api => {
  const handlers = apiHandlersOf(ports, makeCallers(ports.deployment, verifyTokens(ports.deployment)), links, uploadsInto(ports))
  return async (route, call) => answered(route, await handlers[API_ROUTES[route].function](apiEvent(route, call)))
}
