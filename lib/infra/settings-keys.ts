/** What the keys of the deployment settings are, from their schema: for messages, and for the table of docs/deploy.md. */
import * as z from 'zod'
import { settings } from './settings.ts'

interface JsonSchema {
  type?: string
  description?: string
  default?: unknown
  const?: unknown
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  anyOf?: JsonSchema[]
  oneOf?: JsonSchema[]
}

const schema = z.toJSONSchema(settings, { io: 'input' }) as JsonSchema

const options = (part: JsonSchema): JsonSchema[] => part.anyOf ?? part.oneOf ?? [part]

/** Whatever may stand at a path, in any form of what is above it. */
const at = (path: readonly PropertyKey[]): JsonSchema[] =>
  path.reduce<JsonSchema[]>(
    (parts, key) =>
      parts.flatMap((part) =>
        options(part).flatMap((option) => (typeof key === 'number' ? option.items : option.properties?.[String(key)]) ?? []),
      ),
    [schema],
  )

export const keysAt = (path: readonly PropertyKey[]): string[] => [
  ...new Set(at(path).flatMap((part) => options(part).flatMap((option) => Object.keys(option.properties ?? {})))),
]

/** What the key at the path holds, or the nearest one above it that says so. */
export const describedAt = (path: readonly PropertyKey[]): string | null => {
  for (let length = path.length; length > 0; length--) {
    const said = at(path.slice(0, length)).find(({ description }) => description !== undefined)?.description
    if (said !== undefined) return said
  }
  return null
}

export interface SettingsKey {
  key: string
  /** As JSON; several where it depends on what the key stands in. */
  fallbacks: string[]
  /** Where what it stands in is given. */
  required: boolean
  meaning: string
}

const fallbacksOf = ({ default: given }: JsonSchema): string[] =>
  given === undefined || JSON.stringify(given) === '{}' ? [] : [JSON.stringify(given)]

/** Every key that says what it holds, the outer before the inner. */
export const settingsKeys = (): SettingsKey[] => {
  const keys = new Map<string, SettingsKey>()
  const below = (part: JsonSchema, name: string): void => {
    for (const option of options(part)) {
      if (option.items) below(option.items, `${name}[]`)
      for (const [own, about] of Object.entries(option.properties ?? {})) {
        const key = name === '' ? own : `${name}.${own}`
        const { description: meaning } = about
        const required = option.required?.includes(own) ?? false
        const fallbacks = [...new Set([...(keys.get(key)?.fallbacks ?? []), ...fallbacksOf(about)])]
        if (meaning !== undefined) keys.set(key, { key, fallbacks, required, meaning })
        below(about, key)
      }
    }
  }
  below(schema, '')
  return [...keys.values()]
}
