/** Stands between the SDK and the table: lets requests fail before the table has them, or loses the table's answer. */
import { Agent, createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Chance } from './chance.ts'

export interface Wire {
  socket: string
  close(): Promise<void>
}

interface Options {
  socket: string
  upstream: string
  chance: Chance
  /** Chance that a request goes wrong. */
  rate: number
  /** The turn that it belongs to; null where nothing is to go wrong. */
  turn: () => number | null
  happened: (what: string) => void
}

const WRONG = { 'server error': 3, 'cut off before': 2, 'answer lost': 4 }

const bodyOf = async (message: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

export const openWire = async ({ socket, upstream, chance, rate, turn, happened }: Options): Promise<Wire> => {
  const agent = new Agent({ keepAlive: true })
  const counts = new Map<number, number>()

  const forward = (
    incoming: IncomingMessage,
    body: Buffer,
  ): Promise<{ status: number; headers: IncomingMessage['headers']; body: Buffer }> =>
    new Promise((resolve, reject) => {
      const sent = request({ socketPath: upstream, agent, method: incoming.method, path: incoming.url, headers: incoming.headers })
      sent.on('error', reject)
      sent.on('response', (response) => {
        bodyOf(response).then((answer) => resolve({ status: response.statusCode ?? 500, headers: response.headers, body: answer }), reject)
      })
      sent.end(body)
    })

  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const body = await bodyOf(incoming)
    const now = turn() ?? 0
    const nth = counts.get(now) ?? 0
    counts.set(now, nth + 1)
    const wrong = now > 0 && chance.happens(rate, 'wire', now, nth) ? chance.weighted(WRONG, 'wire how', now, nth) : null
    if (wrong) happened(`${wrong}: ${String(incoming.headers['x-amz-target'])}`)
    if (wrong === 'cut off before') return void outgoing.destroy()
    if (wrong === 'server error') {
      outgoing.writeHead(500, { 'content-type': 'application/x-amz-json-1.0' })
      return void outgoing.end(
        JSON.stringify({ __type: 'com.amazonaws.dynamodb.v20120810#InternalServerError', message: 'as the seed says' }),
      )
    }
    const answer = await forward(incoming, body)
    if (wrong === 'answer lost') return void outgoing.destroy()
    outgoing.writeHead(answer.status, answer.headers)
    outgoing.end(answer.body)
  }

  const server: Server = createServer((incoming, outgoing) => void serve(incoming, outgoing).catch(() => outgoing.destroy()))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socket, resolve)
  })
  return {
    socket,
    close: () =>
      new Promise((resolve) => {
        agent.destroy()
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
