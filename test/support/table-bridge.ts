/** DynamoDB Local behind a Unix socket, as if it were the embedded tables: what asks for `Sessions` gets tables of its own. */
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dynamodbLocalEngine } from './tables.ts'

export interface TableBridge {
  socket: string
  /** Requests so far. */
  asked: () => number
  close(): Promise<void>
}

const textOf = async (message: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** Every request has to name one of the two tables by what the embedded engine calls it. Nobody checks its signature. */
export const openBridge = async (endpoint: string): Promise<TableBridge> => {
  const folder = await mkdtemp(join(tmpdir(), 'reviewloop-bridge-'))
  const socket = join(folder, 'socket')
  const engine = dynamodbLocalEngine(endpoint)
  const names = new Map([
    ['Sessions', engine.names.sessions],
    ['Runs', engine.names.runs],
  ])
  let asked = 0
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    asked++
    const input = JSON.parse(await textOf(incoming)) as { TableName: string }
    const TableName = names.get(input.TableName)
    if (TableName === undefined) throw new Error(`no table is called ${input.TableName}`)
    const { 'x-amz-target': target, authorization, 'content-type': type } = incoming.headers
    const headers = { 'x-amz-target': String(target), authorization: String(authorization), 'content-type': String(type) }
    const answer = await fetch(endpoint, { method: 'POST', headers, body: JSON.stringify({ ...input, TableName }) })
    outgoing.writeHead(answer.status, { 'content-type': 'application/x-amz-json-1.0' })
    outgoing.end(Buffer.from(await answer.arrayBuffer()))
  }
  const server = createServer((incoming, outgoing) => void serve(incoming, outgoing).catch(() => outgoing.destroy()))
  server.listen(socket)
  await once(server, 'listening')
  return {
    socket,
    asked: () => asked,
    close: async () => {
      server.close()
      server.closeAllConnections()
      await engine.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
