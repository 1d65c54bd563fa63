/** Says in words what a place of the settings file may hold, from the JSON schema that is made of the zod one. */

/** The few words of JSON schema that zod writes for the settings. */
export interface JsonSchema {
  $schema?: string
  title?: string
  type?: string
  description?: string
  enum?: unknown[]
  const?: unknown
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
  minItems?: number
  maxItems?: number
  minLength?: number
  maxLength?: number
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  anyOf?: JsonSchema[]
}

/** What is allowed at a path of keys and indexes. */
export const allowedAt = (schema: JsonSchema, path: readonly PropertyKey[]): string => {
  let here: JsonSchema = schema
  for (const part of path) {
    const options = here.anyOf ?? [here]
    const next = options.map((option) => (typeof part === 'number' ? option.items : option.properties?.[String(part)])).find(Boolean)
    if (!next) break
    here = next
  }
  return allowed(here)
}

/** zod bounds an integer that has no bound by what a double holds exactly; to people that is none. */
const bound = (value: number | undefined): number | null =>
  value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? null : value

const between = (low: number | null, high: number | null, unit = ''): string => {
  if (low !== null && high !== null) return ` from ${low} to ${high}${unit}`
  if (low !== null) return ` of at least ${low}${unit}`
  return high === null ? '' : ` of at most ${high}${unit}`
}

const allowed = (schema: JsonSchema): string => {
  // null is a key without a value: nobody has to be told how to write that
  if (schema.anyOf) return [...new Set(schema.anyOf.filter(({ type }) => type !== 'null').map(allowed))].join(', or ')
  if (schema.enum) return schema.enum.map(String).join(', ')
  const range = between(bound(schema.minimum), bound(schema.maximum))
  if (schema.type === 'boolean') return 'true, false'
  if (schema.type === 'integer') return `a whole number${range}`
  if (schema.type === 'number') return schema.exclusiveMinimum === 0 ? 'a number above 0' : `a number${range}`
  if (schema.type === 'object') return `the keys ${Object.keys(schema.properties ?? {}).join(', ')}`
  if (schema.type === 'array')
    return `a list${between(null, bound(schema.maxItems))} of (${schema.items ? allowed(schema.items) : 'anything'})`
  return `a text${between(null, bound(schema.maxLength), ' characters')}`
}
