/** Table `Runs`: the run item and its history of turns, and the branch items. */
import {
  type AttributeValue,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb'
import { marshall } from '@aws-sdk/util-dynamodb'
import { branchItem, deliveryItem, type RunItem, nightItem, runItem } from '../../loop/items.ts'
import type { RunStore } from '../../loop/ports.ts'
import { type TurnRecord, turnRecord } from '../../loop/record.ts'
import { type ForgeItem, forgeItem } from '../../loop/telling.ts'
import { pageOf } from '../../loop/run-list.ts'
import { deliveryKey, roleKey, TABLE, TURN_ROLES, turnSk } from '../../names.ts'
import { dynamoBudgets } from './budgets.ts'
import { casItems, fromAttributes, type TableAccess, toAttributes } from './cas-item.ts'
import { callStore } from '../store-errors.ts'
import { runPages } from './run-pages.ts'

type Attributes = Record<string, AttributeValue>
type Page = { Items?: Attributes[] | undefined; LastEvaluatedKey?: Attributes | undefined }

/** Days that the history of a run is kept after its last turn. */
const HISTORY_DAYS = 90

const allPages = async (page: (from: Attributes | undefined) => Promise<Page>): Promise<Attributes[]> => {
  const items: Attributes[] = []
  let from: Attributes | undefined
  do {
    const { Items = [], LastEvaluatedKey } = await page(from)
    items.push(...Items)
    from = LastEvaluatedKey
  } while (from)
  return items
}

const history = ({ client, table }: TableAccess) => {
  const of = (runId: string): Promise<Attributes[]> =>
    callStore(`Reading ${table}`, async () => {
      const pages = TURN_ROLES.map((role) =>
        allPages((from) =>
          client.send(
            new QueryCommand({
              TableName: table,
              KeyConditionExpression: 'pk = :pk',
              ExpressionAttributeValues: { ':pk': { S: roleKey(runId, role) } },
              ConsistentRead: true,
              ExclusiveStartKey: from,
            }),
          ),
        ),
      )
      return (await Promise.all(pages)).flat()
    })
  const add = async (runId: string, record: TurnRecord): Promise<void> => {
    const key = { pk: roleKey(runId, record.role), sk: turnSk(record.turn) }
    const ttl = Math.floor(Date.parse(record.endedAt) / 1000) + HISTORY_DAYS * 86_400
    const put = new PutItemCommand({
      TableName: table,
      Item: toAttributes(key, { ...record, ttl }),
      ConditionExpression: 'attribute_not_exists(pk)',
    })
    await callStore(`Writing ${table}`, () =>
      client.send(put).catch((error: unknown) => {
        // The turn is in the history: it happened once.
        if (!(error instanceof ConditionalCheckFailedException)) throw error
      }),
    )
  }
  return { of, add }
}

/** `small`: pages are cut out of all that is there, so that a table that was made without the index has them too. */
export const dynamoRuns = (access: TableAccess & { small?: boolean }): RunStore => {
  const { client, table, small = false } = access
  const turns = history(access)
  const remove = (item: Attributes): Promise<unknown> =>
    client.send(
      new DeleteItemCommand({
        TableName: table,
        Key: Object.fromEntries([TABLE.pk, TABLE.sk].flatMap((name) => (item[name] ? [[name, item[name]]] : []))),
      }),
    )
  const list = async (): Promise<RunItem[]> => {
    const items = await callStore(`Reading ${table}`, () =>
      allPages((from) =>
        client.send(
          new ScanCommand({
            TableName: table,
            FilterExpression: 'sk = :run',
            ExpressionAttributeValues: { ':run': { S: TABLE.runSk } },
            ExclusiveStartKey: from,
          }),
        ),
      ),
    )
    const runs = items.map((attributes) => fromAttributes(runItem, attributes))
    return runs.sort((a, b) => b.createdAt.localeCompare(a.createdAt))
  }
  return {
    runs: casItems<string, RunItem>(access, runItem, (runId) => ({ pk: runId, sk: TABLE.runSk })),
    forges: casItems<string, ForgeItem>(access, forgeItem, (runId) => ({ pk: runId, sk: TABLE.forgeSk })),
    nights: casItems(access, nightItem, (key: string) => ({ pk: key, sk: TABLE.nightSk })),
    branches: casItems(access, branchItem, (key: string) => ({ pk: key, sk: TABLE.branchSk })),
    deliveries: casItems(access, deliveryItem, (id: string) => ({ pk: deliveryKey(id), sk: TABLE.deliverySk })),
    budgets: dynamoBudgets(access),
    addTurn: turns.add,
    turns: async (runId) =>
      (await turns.of(runId))
        .map(({ [TABLE.ttl]: _ttl, ...attributes }) => fromAttributes(turnRecord, attributes))
        .sort((a, b) => a.turn - b.turn),
    list: async (limit) => (await list()).slice(0, limit),
    page: small ? async (query) => pageOf(await list(), query) : runPages(access),
    // The run item goes last: until then the run is listed, and forgetting it can be tried again.
    forget: async (runId) => {
      const own = await turns.of(runId)
      await callStore(`Deleting from ${table}`, async () => {
        for (const item of own) await remove(item)
        await remove(marshall({ pk: runId, sk: TABLE.forgeSk }))
        await remove(marshall({ pk: runId, sk: TABLE.runSk }))
      })
    },
  }
}
