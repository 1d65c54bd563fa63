/** The stores on dynalite, in process, through the real SDK over a Unix socket, with a count of the calls by table. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import dynalite from 'dynalite'
import type { RunStore, SessionStore } from '../../lib/loop/ports.ts'
import { socketClient } from '../../lib/stores/dynamodb/client.ts'
import { dynamoRuns } from '../../lib/stores/dynamodb/runs.ts'
import { createTables } from '../../lib/stores/dynamodb/schema.ts'
import { dynamoSessions } from '../../lib/stores/dynamodb/sessions.ts'

export interface TableCall {
  table: string
  command: string
  consistent: boolean
}
export interface Tables {
  client: DynamoDBClient
  sessions: SessionStore
  runs: RunStore
  /** What was sent since a test last emptied it. */
  calls: TableCall[]
  /** Clients and stores of a process that shares nothing but the tables. */
  another(): { client: DynamoDBClient; sessions: SessionStore; runs: RunStore }
  close(): Promise<void>
}

export const TABLES = { sessions: 'Sessions', runs: 'Runs' }

const count = (client: DynamoDBClient, calls: TableCall[]): void =>
  client.middlewareStack.add(
    (next, context) => (args) => {
      const input = args.input as { TableName?: string; ConsistentRead?: boolean }
      calls.push({ table: input.TableName ?? '', command: String(context.commandName), consistent: input.ConsistentRead === true })
      return next(args)
    },
    { step: 'initialize' },
  )

export const startTables = async (): Promise<Tables> => {
  const folder = await mkdtemp(join(tmpdir(), 'reviewloop-tables-'))
  const socket = join(folder, 'socket')
  const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socket, resolve)
  })
  const calls: TableCall[] = []
  const clients: DynamoDBClient[] = []
  const another = () => {
    const client = socketClient(socket)
    clients.push(client)
    count(client, calls)
    return {
      client,
      sessions: dynamoSessions({ client, table: TABLES.sessions }),
      runs: dynamoRuns({ client, table: TABLES.runs }),
    }
  }
  const first = another()
  await createTables(first.client, TABLES)
  calls.length = 0
  return {
    ...first,
    calls,
    another,
    close: async () => {
      for (const client of clients) client.destroy()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
      await rm(folder, { recursive: true, force: true })
    },
  }
}
