/**
 * The stores on real tables through the real SDK, with a count of the calls by table: on dynalite, in process, over a Unix socket; or,
 * with `npm run test:dynamodb-local`, on the DynamoDB Local that the run was given.
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DeleteTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import dynalite from 'dynalite'
import { inject } from 'vitest'
import type { RunStore, SessionStore } from '../../lib/loop/ports.ts'
import { dynamoClient, socketClient } from '../../lib/stores/dynamodb/client.ts'
import { dynamoRuns } from '../../lib/stores/dynamodb/runs.ts'
import { createTables } from '../../lib/stores/dynamodb/schema.ts'
import { dynamoSessions } from '../../lib/stores/dynamodb/sessions.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Address of the DynamoDB Local of this run of the tests; nothing where they run on dynalite. */
    dynamodbLocal: string
  }
}

/** Something that serves DynamoDB's protocol. */
export interface TableEngine {
  /** What its two tables are called here. */
  names: { sessions: string; runs: string }
  client(): DynamoDBClient
  close(): Promise<void>
}

export interface TableCall {
  table: string
  command: string
  consistent: boolean
}
export interface Tables {
  names: TableEngine['names']
  client: DynamoDBClient
  sessions: SessionStore
  runs: RunStore
  /** What was sent since a test last emptied it. */
  calls: TableCall[]
  /** Clients and stores of a process that shares nothing but the tables. */
  another(): { client: DynamoDBClient; sessions: SessionStore; runs: RunStore }
  close(): Promise<void>
}

export const dynaliteEngine = async (): Promise<TableEngine> => {
  const folder = await mkdtemp(join(tmpdir(), 'reviewloop-tables-'))
  const socket = join(folder, 'socket')
  const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(socket, resolve)
  })
  return {
    names: { sessions: 'Sessions', runs: 'Runs' },
    client: () => socketClient(socket),
    close: async () => {
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Tables of one's own on a server that all test files share. */
export const dynamodbLocalEngine = (endpoint: string): TableEngine => {
  const own = randomUUID()
  const names = { sessions: `Sessions-${own}`, runs: `Runs-${own}` }
  const client = () => dynamoClient({ region: 'us-east-1', endpoint })
  return {
    names,
    client,
    close: async () => {
      const last = client()
      for (const TableName of Object.values(names)) await last.send(new DeleteTableCommand({ TableName }))
      last.destroy()
    },
  }
}

const count = (client: DynamoDBClient, calls: TableCall[]): void =>
  client.middlewareStack.add(
    (next, context) => (args) => {
      const input = args.input as { TableName?: string; ConsistentRead?: boolean }
      calls.push({ table: input.TableName ?? '', command: String(context.commandName), consistent: input.ConsistentRead === true })
      return next(args)
    },
    { step: 'initialize' },
  )

/** Both tables, made and empty, on the engine that this run of the tests is on. */
export const startTables = async (): Promise<Tables> => {
  const endpoint: string | undefined = inject('dynamodbLocal')
  const { names, ...engine } = endpoint === undefined ? await dynaliteEngine() : dynamodbLocalEngine(endpoint)
  const calls: TableCall[] = []
  const clients: DynamoDBClient[] = []
  const another = () => {
    const client = engine.client()
    clients.push(client)
    count(client, calls)
    return {
      client,
      sessions: dynamoSessions({ client, table: names.sessions }),
      runs: dynamoRuns({ client, table: names.runs }),
    }
  }
  const first = another()
  await createTables(first.client, names)
  calls.length = 0
  return {
    ...first,
    names,
    calls,
    another,
    close: async () => {
      for (const client of clients) client.destroy()
      await engine.close()
    },
  }
}
