/** One item under compare-and-set on `rev`, whatever it holds. */
import {
  type AttributeValue,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
} from '@aws-sdk/client-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import type * as z from 'zod'
import { LoopError } from '../../loop/errors.ts'
import type { ItemStore } from '../../loop/ports.ts'
import { TABLE } from '../../names.ts'
import { callStore } from '../store-errors.ts'

export type TableKey = { pk: string; sk?: string }
export interface TableAccess {
  client: DynamoDBClient
  table: string
}

export const toAttributes = (key: TableKey, item: object): Record<string, AttributeValue> =>
  marshall({ ...item, ...key }, { removeUndefinedValues: true })

/** Errors: Unexpected where the item does not fit. */
const checked = <T>(schema: z.ZodType<T>, pk: string, item: unknown): T => {
  const parsed = schema.safeParse(item)
  if (!parsed.success) throw new LoopError('Unexpected', `The item ${pk} does not fit its schema.`, {}, { cause: parsed.error })
  return parsed.data
}

/** What the table holds, without its key, checked. Errors: Unexpected where it does not fit. */
export const fromAttributes = <T>(schema: z.ZodType<T>, attributes: Record<string, AttributeValue>): T => {
  const { [TABLE.pk]: pk, [TABLE.sk]: _sk, ...item } = unmarshall(attributes)
  return checked(schema, String(pk), item)
}

/**
 * `read` is strongly consistent; `write` is one conditional put. A put that was refused looks whether the item is its own,
 * by the nonce: then an earlier try took and only its answer was lost. What could not be read again is not written: one
 * step fails of it, and not every step after.
 * Errors: StoreUnavailable; Unexpected for an item that does not fit, and for a refusal that retrying does not mend.
 */
export const casItems = <Key, Item extends { rev: number; nonce: string }>(
  { client, table }: TableAccess,
  schema: z.ZodType<Item>,
  keyOf: (key: Key) => TableKey,
): ItemStore<Key, Item> => {
  const read = async (key: Key): Promise<Item | null> => {
    const { Item: attributes } = await callStore(`Reading ${table}`, () =>
      client.send(new GetItemCommand({ TableName: table, Key: marshall(keyOf(key)), ConsistentRead: true })),
    )
    return attributes ? fromAttributes(schema, attributes) : null
  }
  const write = async (key: Key, item: Item): Promise<boolean> => {
    checked(schema, keyOf(key).pk, item)
    const put = new PutItemCommand({
      TableName: table,
      Item: toAttributes(keyOf(key), item),
      ...(item.rev === 1
        ? { ConditionExpression: 'attribute_not_exists(pk)' }
        : {
            ConditionExpression: '#rev = :rev',
            ExpressionAttributeNames: { '#rev': 'rev' },
            ExpressionAttributeValues: { ':rev': { N: String(item.rev - 1) } },
          }),
    })
    const took = await callStore(`Writing ${table}`, () =>
      client.send(put).then(
        () => true,
        (error: unknown) => {
          if (error instanceof ConditionalCheckFailedException) return false
          throw error
        },
      ),
    )
    return took || (await read(key))?.nonce === item.nonce
  }
  return { read, write }
}
