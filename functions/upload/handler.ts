import type { Ports, UploadOffers } from '../../lib/loop/ports.ts'
import { uploadBody } from '../../lib/loop/requests.ts'
import { offerUpload } from '../../lib/loop/upload.ts'
import type { Callers } from '../../lib/runtime/caller.ts'
import { answering, json, readBody, readRequest } from '../../lib/runtime/http.ts'

/** POST /uploads: where a bundle may be put. */
export const handler =
  (ports: Pick<Ports, 'deployment' | 'effects'>, callers: Callers, offers: UploadOffers) =>
  (event: unknown): Promise<unknown> =>
    answering(async () => {
      const request = readRequest(event)
      await callers(request)
      return json(201, { version: 1, ...(await offerUpload(ports, offers, readBody(uploadBody, request))) })
    }, ports.effects)
