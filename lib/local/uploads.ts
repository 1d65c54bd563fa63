/** Uploads to this machine's API: an address that nobody can guess, good for one object of announced length and checksum. */
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { LoopError } from '../loop/errors.ts'
import type { Ports, UploadOffers } from '../loop/ports.ts'
import { type HttpAnswer, json } from '../runtime/http.ts'

const PREFIX = '/uploads/'
const MILLISECONDS = 900_000

export interface LocalUploads extends UploadOffers {
  /** Takes what is put there; null where the request is no upload. Errors: NoSuchRoute, PayloadTooLarge, BadRequest. */
  take(request: IncomingMessage): Promise<HttpAnswer | null>
}

const read = async (request: IncomingMessage, most: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > most) throw new LoopError('PayloadTooLarge', `More than the ${most} bytes that were announced.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** `address`: of this machine's API, without a slash at its end. */
export const localUploads = (ports: Pick<Ports, 'artifacts' | 'effects'>, address: () => string): LocalUploads => {
  const tickets = new Map<string, { key: string; bytes: number; sha256: string; until: number }>()
  return {
    offer: async (object) => {
      const now = ports.effects.now()
      for (const [ticket, { until }] of tickets) if (until <= now) tickets.delete(ticket)
      const ticket = randomBytes(24).toString('base64url')
      tickets.set(ticket, { ...object, until: now + MILLISECONDS })
      return {
        url: `${address()}${PREFIX}${ticket}`,
        headers: { 'content-length': String(object.bytes) },
        expiresAt: new Date(now + MILLISECONDS).toISOString(),
      }
    },
    take: async (request) => {
      if (request.method !== 'PUT' || !request.url?.startsWith(PREFIX)) return null
      const wanted = tickets.get(request.url.slice(PREFIX.length))
      if (!wanted || wanted.until <= ports.effects.now())
        throw new LoopError('NoSuchRoute', 'Nothing is to be uploaded there, or no longer.')
      const bytes = await read(request, wanted.bytes)
      if (bytes.length !== wanted.bytes || createHash('sha256').update(bytes).digest('hex') !== wanted.sha256)
        throw new LoopError('BadRequest', 'What was uploaded is not what was announced.')
      await ports.artifacts.put(wanted.key, bytes)
      return json(200, {})
    },
  }
}
