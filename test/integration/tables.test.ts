import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import dynalite from 'dynalite'
import { expect, test } from 'vitest'
import { dynamoClient } from '../../lib/stores/dynamodb/client.ts'
import { dynamoRuns } from '../../lib/stores/dynamodb/runs.ts'
import { createTables } from '../../lib/stores/dynamodb/schema.ts'

test('tables that take their time to be made can be used once createTables has answered, and made again', async () => {
  const server = dynalite({ createTableMs: 300 })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = dynamoClient({ region: 'us-east-1', endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
  try {
    for (let times = 1; times <= 2; times++) {
      await createTables(client, { sessions: 'Sessions', runs: 'Runs' })
      expect(await dynamoRuns({ client, table: 'Runs' }).runs.read('r-0123456789abcdef')).toBeNull()
    }
  } finally {
    client.destroy()
    server.close()
  }
})
