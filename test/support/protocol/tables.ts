/**
 * A stand-in for the DynamoDB client: exactly the commands and conditions that the stores send, and a refusal of any other. Of reads
 * that are not strongly consistent every third gives the version before the last.
 */
import {
  type AttributeValue,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
} from '@aws-sdk/client-dynamodb'

export type Attributes = Record<string, AttributeValue>
/** The one method of the client that the stores call. */
export interface TableClient {
  send(command: unknown): Promise<unknown>
}

export const keyOf = (table: string, attributes: Attributes): string => `${table}|${attributes['pk']?.S ?? ''}|${attributes['sk']?.S ?? ''}`

const NOT_THERE = 'attribute_not_exists(pk)'
const SAME_REV = '#rev = :rev'

export class MemoryTables implements TableClient {
  readonly #items = new Map<string, Attributes>()
  readonly #before = new Map<string, Attributes>()
  #reads = 0

  async send(command: unknown): Promise<unknown> {
    if (command instanceof GetItemCommand) {
      const { TableName = '', Key = {}, ConsistentRead } = command.input
      const isStale = !ConsistentRead && this.#reads++ % 3 === 0
      return { Item: (isStale ? this.#before : this.#items).get(keyOf(TableName, Key)) }
    }
    if (command instanceof PutItemCommand) return this.#put(command)
    if (command instanceof QueryCommand) {
      const { TableName, KeyConditionExpression, ExpressionAttributeValues: values } = command.input
      if (KeyConditionExpression !== 'pk = :pk') throw new Error(`a query by ${KeyConditionExpression}`)
      const prefix = `${TableName}|${values?.[':pk']?.S ?? ''}|`
      return { Items: [...this.#items].flatMap(([key, item]) => (key.startsWith(prefix) ? [item] : [])) }
    }
    if (command instanceof DeleteItemCommand) {
      const { TableName = '', Key = {} } = command.input
      this.#items.delete(keyOf(TableName, Key))
      this.#before.delete(keyOf(TableName, Key))
      return {}
    }
    throw new Error(`the tables know no ${(command as object).constructor.name}`)
  }

  #put({ input }: PutItemCommand): object {
    const { TableName = '', Item = {}, ConditionExpression, ExpressionAttributeNames: names, ExpressionAttributeValues: values } = input
    const key = keyOf(TableName, Item)
    const old = this.#items.get(key)
    const isMet =
      ConditionExpression === NOT_THERE
        ? old === undefined
        : ConditionExpression === SAME_REV
          ? old?.[names?.['#rev'] ?? '']?.N === values?.[':rev']?.N
          : ConditionExpression === undefined
    if (ConditionExpression !== undefined && ConditionExpression !== NOT_THERE && ConditionExpression !== SAME_REV)
      throw new Error(`a put on condition that ${ConditionExpression}`)
    if (!isMet) throw new ConditionalCheckFailedException({ message: 'The conditional request failed', $metadata: {} })
    if (old) this.#before.set(key, old)
    this.#items.set(key, Item)
    return {}
  }
}

/** What the SDK throws when it has given up waiting for an answer. */
export const noAnswer = (): Error => Object.assign(new Error('no answer'), { name: 'TimeoutError' })

export const asClient = (tables: TableClient): DynamoDBClient => tables as unknown as DynamoDBClient
