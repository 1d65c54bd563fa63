/** Counters of table `Runs`, by scope: what was used in a day, and the places of the runs that there are. One atomic update each. */
import {
  type AttributeValue,
  ConditionalCheckFailedException,
  GetItemCommand,
  UpdateItemCommand,
  type UpdateItemCommandInput,
  type UpdateItemCommandOutput,
} from '@aws-sdk/client-dynamodb'
import { marshall, unmarshall } from '@aws-sdk/util-dynamodb'
import * as z from 'zod'
import type { BudgetStore } from '../../loop/ports.ts'
import { budgetKey, TABLE } from '../../names.ts'
import { callStore } from '../store-errors.ts'
import type { TableAccess } from './cas-item.ts'

/** Days that a day's counter is kept. */
const DAY_DAYS = 40

const dayCounter = z.object({ tokens: z.number().default(0), microdollars: z.number().default(0) })
const placeOf = z.object({ run: z.string(), at: z.number() })
const placesItem = z.object({ places: z.record(z.string(), placeOf).default({}) })

const daySk = (day: string): string => `${TABLE.daySk}#${day}`
const ttlOf = (day: string): number => Math.floor(Date.parse(day) / 1000) + DAY_DAYS * 86_400

export const dynamoBudgets = ({ client, table }: TableAccess): BudgetStore => {
  const read = async (scope: string, sk: string): Promise<Record<string, unknown>> => {
    const get = new GetItemCommand({ TableName: table, Key: marshall({ pk: budgetKey(scope), sk }), ConsistentRead: true })
    const { Item } = await callStore(`Reading ${table}`, () => client.send(get))
    return Item ? unmarshall(Item) : {}
  }
  /** null: the condition did not hold. */
  const update = (scope: string, sk: string, change: Partial<UpdateItemCommandInput>): Promise<UpdateItemCommandOutput | null> =>
    callStore(`Writing ${table}`, () =>
      client
        .send(new UpdateItemCommand({ TableName: table, Key: marshall({ pk: budgetKey(scope), sk }), ...change }))
        .catch((error: unknown) => {
          if (error instanceof ConditionalCheckFailedException) return null
          throw error
        }),
    )
  const values = (given: Record<string, unknown>): Record<string, AttributeValue> => marshall(given)
  const atPlace = (branch: string) => ({ '#places': 'places', '#branch': branch })

  return {
    add: async (scope, { day, id, tokens, microdollars }) => {
      await update(scope, daySk(day), {
        UpdateExpression: 'ADD #tokens :tokens, #dollars :dollars, #counted :ids SET #ttl = :ttl',
        ConditionExpression: 'attribute_not_exists(#counted) OR NOT contains(#counted, :id)',
        ExpressionAttributeNames: { '#tokens': 'tokens', '#dollars': 'microdollars', '#counted': 'counted', '#ttl': TABLE.ttl },
        ExpressionAttributeValues: values({
          ':tokens': tokens,
          ':dollars': microdollars,
          ':ids': new Set([id]),
          ':id': id,
          ':ttl': ttlOf(day),
        }),
      })
    },
    spent: async (scope, day) => dayCounter.parse(await read(scope, daySk(day))),
    tellOnce: async (scope, day, bound) => {
      const answer = await update(scope, daySk(day), {
        UpdateExpression: 'SET #told = :told, #ttl = :ttl',
        ConditionExpression: 'attribute_not_exists(#told)',
        ExpressionAttributeNames: { '#told': `told-${bound}`, '#ttl': TABLE.ttl },
        ExpressionAttributeValues: values({ ':told': true, ':ttl': ttlOf(day) }),
      })
      return answer !== null
    },
    places: async (scope) =>
      Object.entries(placesItem.parse(await read(scope, TABLE.placesSk)).places).map(([branch, place]) => ({ branch, ...place })),
    enter: async (scope, { branch, run, at, most }) => {
      await update(scope, TABLE.placesSk, {
        UpdateExpression: 'SET #places = if_not_exists(#places, :none)',
        ExpressionAttributeNames: { '#places': 'places' },
        ExpressionAttributeValues: values({ ':none': {} }),
      })
      const answer = await update(scope, TABLE.placesSk, {
        UpdateExpression: 'SET #places.#branch = :place',
        ConditionExpression: 'attribute_exists(#places.#branch) OR size(#places) < :most',
        ExpressionAttributeNames: atPlace(branch),
        ExpressionAttributeValues: values({ ':place': { run, at }, ':most': most }),
        ReturnValues: 'ALL_OLD',
      })
      if (!answer) return { entered: false, before: null }
      return { entered: true, before: placesItem.parse(unmarshall(answer.Attributes ?? {})).places[branch] ?? null }
    },
    leave: async (scope, { branch, run }, before) => {
      await update(scope, TABLE.placesSk, {
        UpdateExpression: before ? 'SET #places.#branch = :before' : 'REMOVE #places.#branch',
        ConditionExpression: '#places.#branch.#run = :run',
        ExpressionAttributeNames: { ...atPlace(branch), '#run': 'run' },
        ExpressionAttributeValues: values({ ':run': run, ...(before ? { ':before': before } : {}) }),
      })
    },
  }
}
