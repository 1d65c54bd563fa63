/**
 * Where dynalite and DynamoDB Local differ, and where they have to agree. What is here as different stands in docs/reliability.md, and
 * nothing in lib/ may lean on it.
 */
import {
  type AttributeValue,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteItemsCommand,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll, describe, expect, inject } from 'vitest'
import { createTables } from '../../lib/stores/dynamodb/schema.ts'
import { isInstalled, testWith } from '../support/needs.ts'
import { suitesOnTables } from '../support/table-suites.ts'
import { dynaliteEngine, dynamodbLocalEngine, startTables, type TableEngine } from '../support/tables.ts'

interface Side {
  engine: TableEngine
  client: DynamoDBClient
}
const sides: Record<'dynalite' | 'local', Side | null> = { dynalite: null, local: null }

const open = async (engine: TableEngine): Promise<Side> => {
  const client = engine.client()
  await createTables(client, engine.names)
  return { engine, client }
}
beforeAll(async () => {
  if (!isInstalled('java')) return
  sides.dynalite = await open(await dynaliteEngine())
  sides.local = await open(dynamodbLocalEngine(inject('dynamodbLocal')))
})
afterAll(async () => {
  for (const side of Object.values(sides)) {
    side?.client.destroy()
    await side?.engine.close()
  }
})

type Attributes = Record<string, AttributeValue>
type Ask = (client: DynamoDBClient, names: TableEngine['names']) => Promise<unknown>

/** What came, or the name of the error and, where it matters, what else the error says. */
const ask = async (side: keyof typeof sides, run: Ask, says: (error: Error) => unknown = (error) => error.name): Promise<unknown> => {
  const there = sides[side]
  if (!there) throw new Error(`${side} is not there`)
  return run(there.client, there.engine.names).catch((error: unknown) => says(error as Error))
}
const both = async (run: Ask, says?: (error: Error) => unknown): Promise<{ dynalite: unknown; local: unknown }> => ({
  dynalite: await ask('dynalite', run, says),
  local: await ask('local', run, says),
})

const DONE = 'done'
const put =
  (item: Attributes, more: Partial<PutItemCommand['input']> = {}): Ask =>
  async (client, { sessions }) => {
    await client.send(new PutItemCommand({ TableName: sessions, Item: item, ...more }))
    return DONE
  }
/** Puts an item and gives it as it is read. */
const kept =
  (item: Attributes): Ask =>
  async (client, names) => {
    await put(item)(client, names)
    const key = { pk: item['pk'] ?? { S: '' } }
    return (await client.send(new GetItemCommand({ TableName: names.sessions, Key: key, ConsistentRead: true }))).Item
  }
const same = (value: unknown) => ({ dynalite: value, local: value })
const onBoth = testWith('java')

onBoth('the suites that open tables have them on DynamoDB Local, each its own', async () => {
  expect(suitesOnTables().length).toBeGreaterThan(5)
  const [tables, others] = [await startTables(), await startTables()]
  try {
    expect(await tables.client.config.endpoint?.()).toMatchObject({ hostname: '127.0.0.1' })
    expect(tables.names).not.toEqual(others.names)
  } finally {
    await tables.close()
    await others.close()
  }
})

describe('they differ, and nothing leans on it:', () => {
  onBoth('DynamoDB Local has transactions, dynalite has not', async () => {
    const transaction: Ask = async (client, { sessions }) => {
      await client.send(new TransactWriteItemsCommand({ TransactItems: [{ Put: { TableName: sessions, Item: { pk: { S: 't' } } } }] }))
      return DONE
    }
    expect(await both(transaction)).toEqual({ dynalite: 'UnknownOperationException', local: DONE })
  })

  onBoth('a refused condition gives the item that was there on DynamoDB Local alone', async () => {
    const item = { pk: { S: 'old' } }
    await both(put(item))
    const again = put(item, { ConditionExpression: 'attribute_not_exists(pk)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' })
    expect(await both(again, (error) => (error as Error & { Item?: Attributes }).Item)).toEqual({ dynalite: undefined, local: item })
  })

  onBoth('a TTL can be set on DynamoDB Local alone', async () => {
    const ttl: Ask = async (client, { runs }) => {
      const TimeToLiveSpecification = { AttributeName: 'ttl', Enabled: true }
      await client.send(new UpdateTimeToLiveCommand({ TableName: runs, TimeToLiveSpecification }))
      return DONE
    }
    expect(await both(ttl)).toEqual({ dynalite: 'UnknownOperationException', local: DONE })
  })

  onBoth('an attribute without a name is refused by DynamoDB Local alone', async () => {
    expect(await both(put({ pk: { S: 'nameless' }, notes: { M: { '': { S: 'x' } } } }))).toEqual({
      dynalite: DONE,
      local: 'ValidationException',
    })
  })

  onBoth('more than 32 levels are refused by DynamoDB Local alone', async () => {
    const nested = (levels: number): AttributeValue => (levels === 0 ? { S: 'x' } : { L: [nested(levels - 1)] })
    expect(await both(put({ pk: { S: 'deep' }, deep: nested(32) }))).toEqual({ dynalite: DONE, local: 'ValidationException' })
  })

  onBoth('dynalite counts the bytes of an item by another rule once they are not ASCII, and takes more', async () => {
    expect(await both(put({ pk: { S: 'large' }, text: { S: '€'.repeat(140_000) } }))).toEqual({
      dynalite: DONE,
      local: 'ValidationException',
    })
  })

  onBoth('messages of errors differ; their names do not', async () => {
    const missing = put({ pk: { S: 'x' } }, { TableName: 'NoSuchTable' })
    expect(await both(missing)).toEqual(same('ResourceNotFoundException'))
    const messages = await both(missing, (error) => error.message)
    expect(messages.dynalite).not.toBe(messages.local)
  })
})

describe('they agree:', () => {
  onBoth('of many conditional writes at once one takes, and the others are told why', async () => {
    await both(put({ pk: { S: 'race' }, rev: { N: '1' } }))
    const race: Ask = async (client, { sessions }) => {
      const racer = (at: number) =>
        new PutItemCommand({
          TableName: sessions,
          Item: { pk: { S: 'race' }, rev: { N: '2' }, at: { N: String(at) } },
          ConditionExpression: '#rev = :rev',
          ExpressionAttributeNames: { '#rev': 'rev' },
          ExpressionAttributeValues: { ':rev': { N: '1' } },
        })
      const ends = await Promise.allSettled(Array.from({ length: 24 }, (_, at) => client.send(racer(at))))
      const whys = ends.flatMap((end) => (end.status === 'rejected' ? [(end.reason as Error).name] : []))
      return { lost: whys.length, whys: [...new Set(whys)] }
    }
    expect(await both(race)).toEqual(same({ lost: 23, whys: ['ConditionalCheckFailedException'] }))
  })

  onBoth('an item of 400 KB is taken and one of a byte more is refused', async () => {
    const rest = 'pk'.length + 'size'.length + 'text'.length
    const sized = (bytes: number): Ask => put({ pk: { S: 'size' }, text: { S: 'x'.repeat(bytes - rest) } })
    expect(await both(sized(400 * 1024))).toEqual(same(DONE))
    const refused = await both(sized(400 * 1024 + 1), (error) => [error.name, error.message])
    expect(refused).toEqual(same(['ValidationException', 'Item size has exceeded the maximum allowed size']))
  })

  onBoth('numbers keep what a double holds exactly, and times in milliseconds', async () => {
    for (const N of [
      '9007199254740991',
      '-9007199254740991',
      '1767603600000',
      '0.1',
      '0.30000000000000004',
      '12345678901234567890123456789012345678',
    ])
      expect(await both(kept({ pk: { S: 'number' }, N: { N } }))).toEqual(same({ pk: { S: 'number' }, N: { N } }))
  })

  onBoth('empty texts, lists and maps are kept; an empty key is refused', async () => {
    const empty = { pk: { S: 'empty' }, text: { S: '' }, list: { L: [] }, map: { M: {} } }
    expect(await both(kept(empty))).toEqual(same(empty))
    expect(await both(put({ pk: { S: '' } }))).toEqual(same('ValidationException'))
    expect(await both(put({ pk: { S: 'set' }, set: { SS: [] } }))).toEqual(same('ValidationException'))
  })

  onBoth('keys are bytes: what looks alike and is not stays apart, and sorts as UTF-8 does', async () => {
    const keys = ['\u{1f600}', '\uffee', 'z', 'é', 'e\u0301', 'e', '10', '9', 'a\nb', '\0']
    const sorted: Ask = async (client, { runs }) => {
      for (const sk of keys) await client.send(new PutItemCommand({ TableName: runs, Item: { pk: { S: 'keys' }, sk: { S: sk } } }))
      const query = { TableName: runs, KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': { S: 'keys' } } }
      return (await client.send(new QueryCommand({ ...query, ConsistentRead: true }))).Items?.map((item) => item['sk']?.S)
    }
    const order = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    expect(await both(sorted)).toEqual(same(order))
  })

  onBoth('a strongly consistent scan finds what was just written', async () => {
    const scan: Ask = async (client, { sessions }) => {
      await client.send(new PutItemCommand({ TableName: sessions, Item: { pk: { S: 'just now' } } }))
      const { Items = [] } = await client.send(new ScanCommand({ TableName: sessions, ConsistentRead: true }))
      return Items.some((item) => item['pk']?.S === 'just now')
    }
    expect(await both(scan)).toEqual(same(true))
  })

  onBoth('an item past its TTL can still be read: expiry is for the reader to check', async () => {
    const expired = { pk: { S: 'expired' }, ttl: { N: '1000' } }
    expect(await both(kept(expired))).toEqual(same(expired))
  })
})
