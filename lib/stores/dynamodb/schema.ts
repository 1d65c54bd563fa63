/** The two tables as CreateTable takes them: for the embedded engine and the tests. The deployed stack defines the same keys. */
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  type DynamoDBClient,
  ResourceInUseException,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb'
import { LISTED, TABLE } from '../../names.ts'

const table = (name: string, ...keys: string[]): CreateTableCommandInput => ({
  TableName: name,
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: keys.map((key) => ({ AttributeName: key, AttributeType: 'S' })),
  KeySchema: keys.map((key, index) => ({ AttributeName: key, KeyType: index === 0 ? 'HASH' : 'RANGE' })),
})

const sessionsTable = (name: string): CreateTableCommandInput => table(name, TABLE.pk)
const runsTable = (name: string): CreateTableCommandInput => {
  const { AttributeDefinitions = [], ...rest } = table(name, TABLE.pk, TABLE.sk)
  return {
    ...rest,
    AttributeDefinitions: [...AttributeDefinitions, { AttributeName: TABLE.createdAt, AttributeType: 'S' }],
    GlobalSecondaryIndexes: [
      {
        IndexName: TABLE.runsByTime,
        KeySchema: [
          { AttributeName: TABLE.sk, KeyType: 'HASH' },
          { AttributeName: TABLE.createdAt, KeyType: 'RANGE' },
        ],
        Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: [...LISTED] },
      },
    ],
  }
}

/** Creates both and waits until they can be used; those that exist are left as they are. */
export const createTables = async (client: DynamoDBClient, names: { sessions: string; runs: string }): Promise<void> => {
  for (const input of [sessionsTable(names.sessions), runsTable(names.runs)]) {
    await client.send(new CreateTableCommand(input)).catch((error: unknown) => {
      if (!(error instanceof ResourceInUseException)) throw error
    })
    // A table that is still being made answers as if there were none.
    await waitUntilTableExists({ client, maxWaitTime: 30, minDelay: 0.01, maxDelay: 1 }, { TableName: input.TableName })
  }
}
