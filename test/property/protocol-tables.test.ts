/** The stand-in for the tables that the many schedules run on, against the tables of the embedded engine through the real SDK. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { createTables } from '../../lib/stores/dynamodb/schema.ts'
import { play } from '../support/protocol/schedule.ts'
import { loadSystem } from '../support/protocol/system.ts'
import { TABLES } from '../support/protocol/world.ts'
import { dynaliteEngine, type TableEngine } from '../support/tables.ts'

const SCHEDULES = process.env['REVIEWLOOP_LONG'] ? 2000 : 200

let engine: TableEngine
let client: DynamoDBClient
beforeAll(async () => {
  engine = await dynaliteEngine()
  client = engine.client()
  await createTables(client, TABLES)
})
afterAll(async () => {
  client.destroy()
  await engine.close()
})

test(
  `${SCHEDULES} schedules hold on the real tables, and each takes the very steps that it takes on the stand-in`,
  async () => {
    const system = await loadSystem()
    const tables = { send: (command: unknown) => client.send(command as Parameters<DynamoDBClient['send']>[0]) }
    for (let seed = 1; seed <= SCHEDULES; seed++) {
      const played = await play({ system, seed, tables })
      expect(played.violation, `seed ${seed}`).toBeNull()
      expect(played, `seed ${seed}`).toEqual(await play({ system, seed }))
    }
  },
  SCHEDULES * 3000,
)
