/** The answers' schemas as models take them, and the way back. Strict ones know no optional keys and few constraints. */
import * as z from 'zod'
import type { Task } from '../agent.ts'
import { fixOutput, reviewOutput } from '../output.ts'

type Json = { [key: string]: unknown }

/** Constraints that providers refuse in a strict schema. The loop checks them all the same. */
const UNKNOWN = new Set(['minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'minItems', 'maxItems', 'pattern', '$schema'])

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const nullable = (schema: unknown): unknown => {
  if (!isObject(schema)) return schema
  const { description, ...rest } = schema
  return { anyOf: [rest, { type: 'null' }], ...(description === undefined ? {} : { description }) }
}

/** Every key required, optional ones nullable instead. */
const strict = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(strict)
  if (!isObject(schema)) return schema
  const known = Object.fromEntries(Object.entries(schema).filter(([key]) => !UNKNOWN.has(key)))
  if (!isObject(known['properties'])) return Object.fromEntries(Object.entries(known).map(([key, value]) => [key, strict(value)]))
  const required = new Set(Array.isArray(known['required']) ? known['required'] : [])
  const properties = Object.entries(known['properties']).map(([key, value]) => [
    key,
    required.has(key) ? strict(value) : nullable(strict(value)),
  ])
  return {
    ...known,
    properties: Object.fromEntries(properties) as Json,
    required: properties.map(([key]) => key),
    additionalProperties: false,
  }
}

/** JSON schema of the answer to a task, for a model: strict. */
export const answerSchema = ({ kind }: Pick<Task, 'kind'>): Json =>
  strict(z.toJSONSchema(kind === 'fix' ? fixOutput : reviewOutput, { io: 'output' })) as Json

/** What a model answered by such a schema: keys that are null are left out. */
export const answerOf = (given: unknown): unknown => {
  if (Array.isArray(given)) return given.map(answerOf)
  if (!isObject(given)) return given
  return Object.fromEntries(Object.entries(given).flatMap(([key, value]) => (value === null ? [] : [[key, answerOf(value)]])))
}
