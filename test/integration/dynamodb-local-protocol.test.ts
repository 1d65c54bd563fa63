/** Schedules of the protocol on DynamoDB Local, step by step as on the stand-in that the many schedules run on. */
import { expect, inject } from 'vitest'
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { dynamoClient } from '../../lib/stores/dynamodb/client.ts'
import { createTables } from '../../lib/stores/dynamodb/schema.ts'
import { testWith } from '../support/needs.ts'
import { play } from '../support/protocol/schedule.ts'
import { loadSystem } from '../support/protocol/system.ts'
import { TABLES } from '../support/protocol/world.ts'

const SCHEDULES = process.env['REVIEWLOOP_LONG'] ? 2000 : 150

testWith('java')(
  `${SCHEDULES} schedules hold on DynamoDB Local, and each takes the very steps that it takes on the stand-in`,
  async () => {
    const client = dynamoClient({ region: 'us-east-1', endpoint: inject('dynamodbLocal') })
    await createTables(client, TABLES)
    const system = await loadSystem()
    const tables = { send: (command: unknown) => client.send(command as Parameters<DynamoDBClient['send']>[0]) }
    const outcomes = new Set<string>()
    for (let seed = 1; seed <= SCHEDULES; seed++) {
      const played = await play({ system, seed, tables })
      expect(played.violation, `seed ${seed}`).toBeNull()
      expect(played, `seed ${seed}`).toEqual(await play({ system, seed }))
      for (const outcome of played.outcomes) outcomes.add(outcome)
    }
    client.destroy()
    expect(outcomes.size).toBeGreaterThan(5)
  },
  SCHEDULES * 5000,
)
