/** The commented settings file that `init` writes, every key at its default, and the schema that an editor checks it with. */
import { Document, isMap, isScalar, type YAMLMap } from 'yaml'
import { policy, SETTINGS_FILE } from './policy.ts'
import type { JsonSchema } from './settings-schema.ts'
import { settingsJsonSchema } from './settings.ts'

const HEAD = ` Settings of reviewloop, read from ${SETTINGS_FILE} at the tip of the base branch. Every key may be left out.`
/** What tells an editor's YAML server which schema the file follows: the one of the package that the repository depends on. */
const MODELINE = ' yaml-language-server: $schema=node_modules/reviewloop/docs/reviewloop.schema.json'
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

/** The schema of the settings file in the draft that editors' YAML servers know best. */
export const editorSchema = (): JsonSchema => ({
  ...settingsJsonSchema('draft-7'),
  title: `Settings of reviewloop: ${SETTINGS_FILE}`,
})

/** Parses to exactly the defaults. The agent has none of its own (the deployment's serves), so it stands in a comment. */
export const settingsExample = (): string => {
  const schema = settingsJsonSchema()
  const document = new Document(policy.parse({}))
  if (isMap(document.contents)) explain(document.contents, schema, true)
  document.commentBefore = `${MODELINE}\n${HEAD}`
  document.comment = `${wrap(schema.properties?.['agent']?.description ?? '')}\n agent: lint`
  return document.toString({ lineWidth: 0 })
}
