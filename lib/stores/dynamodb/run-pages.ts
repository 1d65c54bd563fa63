/** Pages of runs by the index of table `Runs`: what is read grows with the page, not with the table. */
import { QueryCommand, type QueryCommandInput } from '@aws-sdk/client-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import { LoopError } from '../../loop/errors.ts'
import { runSummary } from '../../loop/items.ts'
import type { RunStore } from '../../loop/ports.ts'
import { cursorOf, readCursor, wantedRepository } from '../../loop/run-list.ts'
import { TABLE } from '../../names.ts'
import { callStore } from '../store-errors.ts'
import type { TableAccess } from './cas-item.ts'

/** Reads of the index for one page: a filter that few runs pass gives a short page and goes on with the next. */
const MOST_READS = 10

type Filter = Pick<QueryCommandInput, 'FilterExpression' | 'ExpressionAttributeNames'> & { values: Record<string, string> }

const filterOf = (wanted: Record<string, string | undefined>): Filter => {
  const given = Object.entries(wanted).flatMap(([path, value], index) => (value === undefined ? [] : [{ path, value, index }]))
  const names = [...new Set(given.flatMap(({ path }) => path.split('.')))].map((name) => [`#${name}`, name] as const)
  return {
    values: Object.fromEntries(given.map(({ value, index }) => [`:v${index}`, value])),
    ...(given.length
      ? {
          FilterExpression: given.map(({ path, index }) => `${path.replaceAll(/\w+/g, '#$&')} = :v${index}`).join(' AND '),
          ExpressionAttributeNames: Object.fromEntries(names),
        }
      : {}),
  }
}

/** Errors: BadRequest, StoreUnavailable. */
export const runPages =
  ({ client, table }: TableAccess): RunStore['page'] =>
  async (query) => {
    const { values, ...filter } = filterOf({
      'request.repository': wantedRepository(query),
      'request.branch': query.branch,
      status: query.status,
    })
    const after = query.after === undefined ? null : readCursor(query.after)
    let from: QueryCommandInput['ExclusiveStartKey'] = after
      ? marshall({ pk: after.runId, sk: TABLE.runSk, createdAt: after.createdAt })
      : undefined
    const runs = []
    for (let reads = 0; reads < MOST_READS && runs.length < query.limit; reads++) {
      const { Items = [], LastEvaluatedKey } = await callStore(`Reading ${table}`, () =>
        client.send(
          new QueryCommand({
            TableName: table,
            IndexName: TABLE.runsByTime,
            KeyConditionExpression: 'sk = :run',
            ExpressionAttributeValues: marshall({ ':run': TABLE.runSk, ...values }),
            ...filter,
            ScanIndexForward: false,
            Limit: query.limit,
            ExclusiveStartKey: from,
          }),
        ),
      )
      for (const item of Items) {
        const { [TABLE.pk]: _pk, [TABLE.sk]: _sk, ...fields } = unmarshall(item)
        const parsed = runSummary.safeParse(fields)
        if (!parsed.success) throw new LoopError('Unexpected', `An item of ${table} does not fit its schema.`, {}, { cause: parsed.error })
        runs.push(parsed.data)
      }
      from = LastEvaluatedKey
      if (!from) break
    }
    const page = runs.slice(0, query.limit)
    const last = page.at(-1)
    if (runs.length > page.length && last) return { runs: page, next: cursorOf(last) }
    const at = from ? unmarshall(from) : null
    return { runs: page, next: at ? cursorOf({ createdAt: String(at['createdAt']), runId: String(at['pk']) }) : null }
  }
