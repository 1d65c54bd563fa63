/** A server that means harm: it never answers, never ends, or answers what nobody asked for. On the loopback. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'

const pkt = (text: string | Buffer): Buffer => {
  const bytes = Buffer.from(text)
  return Buffer.concat([Buffer.from((bytes.length + 4).toString(16).padStart(4, '0')), bytes])
}

const FLUSH = Buffer.from('0000')
const DELIMITER = Buffer.from('0001')

export type Behaviour = (request: IncomingMessage, response: ServerResponse) => Promise<void> | void

export interface HostileServer {
  url: string
  /** Bytes that were sent until now. */
  sent: () => number
  requests: string[]
  close(): Promise<void>
}

/** Writes until the other side is gone, as fast as it reads and no faster. Timers of this process have their turn in between. */
const endless = async (response: ServerResponse, next: (count: number) => Buffer): Promise<void> => {
  for (let count = 0; !response.destroyed; count++) {
    const more = response.write(next(count))
    if (!more) await Promise.race([once(response, 'drain'), once(response, 'close')])
    await setImmediate()
  }
}

const refLines = (count: number): Buffer =>
  Buffer.concat(Array.from({ length: 500 }, (_, index) => pkt(`${'a'.repeat(40)} refs/heads/branch-${count * 500 + index}\n`)))

const advertisement = (response: ServerResponse): ServerResponse =>
  response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-advertisement' })

/** The list of branches has no end. */
export const endlessAdvertisement: Behaviour = async (_request, response) => {
  advertisement(response).write(Buffer.concat([pkt('# service=git-upload-pack\n'), FLUSH]))
  await endless(response, refLines)
}

const capabilities = Buffer.concat([
  pkt('# service=git-upload-pack\n'),
  FLUSH,
  pkt('version 2\n'),
  pkt('agent=git/hostile\n'),
  pkt('ls-refs=unborn\n'),
  pkt('fetch=shallow\n'),
  pkt('object-format=sha1\n'),
  FLUSH,
])

/** Speaks version 2 of the protocol, and `answer` answers its commands. */
const version2 =
  (answer: Behaviour): Behaviour =>
  async (request, response) => {
    if (request.method === 'GET') return void advertisement(response).end(capabilities)
    response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' })
    await answer(request, response)
  }

/** What ls-refs answers has no end. */
export const endlessRefs: Behaviour = version2((_request, response) => endless(response, refLines))

const SIDE_BAND = 65_000
const inBand = (bytes: Buffer): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / SIDE_BAND) }, (_, index) =>
    pkt(Buffer.concat([Buffer.from([1]), bytes.subarray(index * SIDE_BAND, (index + 1) * SIDE_BAND)])),
  )

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const bytes = Buffer.concat(chunks)
  return (request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes).toString('latin1')
}

/** What stands before a pack: a client that still negotiates is told that the server is ready. */
const beforePack = async (request: IncomingMessage): Promise<Buffer[]> => {
  const isDone = (await bodyOf(request)).includes('done\n')
  return [...(isDone ? [] : [pkt('acknowledgments\n'), pkt('ready\n'), DELIMITER]), pkt('packfile\n')]
}

/** Every fetch is answered by this pack, whatever was asked for. */
export const givesPack = (pack: Buffer): Behaviour =>
  version2(async (request, response) => void response.end(Buffer.concat([...(await beforePack(request)), ...inBand(pack), FLUSH])))

/** Every fetch is answered by a pack that has no end: a head, then one entry after the other. */
export const endlessPack = (entry: (count: number) => Buffer): Behaviour =>
  version2(async (request, response) => {
    const head = Buffer.alloc(12)
    head.write('PACK')
    head.writeUInt32BE(2, 4)
    head.writeUInt32BE(1_000_000, 8)
    response.write(Buffer.concat([...(await beforePack(request)), ...inBand(head)]))
    await endless(response, (count) => Buffer.concat(inBand(entry(count))))
  })

/** Takes every request and says nothing. */
export const silent: Behaviour = () => undefined

export const serveHostile = async (behaviour: Behaviour): Promise<HostileServer> => {
  const requests: string[] = []
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    request.on('error', () => undefined)
    response.on('error', () => undefined)
    void behaviour(request, response)
  })
  const written = new Set<Socket>()
  server.on('connection', (socket) => written.add(socket))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/project.git`,
    sent: () => [...written].reduce((sum, socket) => sum + socket.bytesWritten, 0),
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
