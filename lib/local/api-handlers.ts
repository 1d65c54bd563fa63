/** The very handlers of the API's Lambdas, by the function that they are in AWS. */
import { handler as abort } from '../../functions/abort/handler.ts'
import { handler as answer } from '../../functions/answer/handler.ts'
import { handler as report } from '../../functions/report/handler.ts'
import { handler as show } from '../../functions/show/handler.ts'
import { handler as start } from '../../functions/start/handler.ts'
import { handler as upload } from '../../functions/upload/handler.ts'
import type { ArtifactLinks, Ports, UploadOffers } from '../loop/ports.ts'
import type { API_ROUTES, ApiRoute } from '../names.ts'
import type { Callers } from '../runtime/caller.ts'

type ApiFunction = (typeof API_ROUTES)[ApiRoute]['function']

/** `links`: null where a report of any size is answered as it is. */
export const apiHandlersOf = (
  ports: Ports,
  callers: Callers,
  links: ArtifactLinks | null,
  uploads: UploadOffers,
): Record<ApiFunction, (event: unknown) => Promise<unknown>> => ({
  Start: start(ports, callers),
  Show: show(ports, callers),
  Report: report(ports, callers, links),
  Answer: answer(ports, callers),
  Abort: abort(ports, callers),
  Upload: upload(ports, callers, uploads),
})
