/** The commented settings file that `init` writes: every key at its default. */
import { Document, isMap, isScalar, type YAMLMap } from 'yaml'
import { policy, SETTINGS_FILE } from './policy.ts'
import type { JsonSchema } from './settings-schema.ts'
import { settingsJsonSchema } from './settings.ts'

const HEAD = ` Settings of reviewloop, read from ${SETTINGS_FILE} at the tip of the base branch. Every key may be left out.`
const WIDTH = 100

const wrap = (text: string): string => {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + word.length < WIDTH) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(` ${word}`)
  }
  return lines.join('\n')
}

const explain = (map: YAMLMap, schema: JsonSchema, top: boolean): void => {
  for (const [index, { key, value }] of map.items.entries()) {
    if (!isScalar(key)) continue
    const about = schema.properties?.[String(key.value)]
    const values = about?.enum ? ` One of: ${about.enum.join(', ')}.` : ''
    if (about?.description) key.commentBefore = wrap(`${about.description}${values}`)
    key.spaceBefore = top && index > 0
    if (isMap(value) && about) explain(value, about, false)
  }
}

/** Parses to exactly the defaults. The agent has none of its own (the deployment's serves), so it stands in a comment. */
export const settingsExample = (): string => {
  const schema = settingsJsonSchema()
  const document = new Document(policy.parse({}))
  if (isMap(document.contents)) explain(document.contents, schema, true)
  document.commentBefore = HEAD
  document.comment = `${wrap(schema.properties?.['agent']?.description ?? '')}\n agent: lint`
  return document.toString({ lineWidth: 0 })
}
