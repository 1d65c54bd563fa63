/** Reading the settings file: what is wrong with it is said with file, line, key and what is allowed. */
import { isAlias, isMap, isNode, isScalar, LineCounter, type Document, type ParsedNode, parseDocument, visit } from 'yaml'
import * as z from 'zod'
import { LoopError } from './errors.ts'
import { policy, type Policy, settings, type Settings } from './policy.ts'
import { oneLine } from './redact.ts'
import { allowedAt, type JsonSchema } from './settings-schema.ts'

/** Of a file, and of overrides, which are kept in the run's item. */
const MOST_BYTES = 64 * 1024
const MOST_PROBLEMS = 10
const MOST_WORKED_OUT = 100

interface Problem {
  line: number
  column: number
  /** Path of the key, e.g. `limits.files`; '' for the file itself. */
  key: string
  message: string
  allowed: string | null
}

/** JSON schema of the settings file, for editors and docs. */
export const settingsJsonSchema = (target: 'draft-7' | 'draft-2020-12' = 'draft-2020-12'): JsonSchema =>
  z.toJSONSchema(settings, { io: 'input', target }) as JsonSchema

/**
 * The policy: defaults, under the file's settings, under the overrides, each key for itself. `text` is null where there is no file;
 * `file` is what messages call it, `parse` reads a file that is not ours. Errors: BadSettings, with `details.problems`.
 */
export const resolvePolicy = ({
  text,
  file,
  overrides,
  parse = parseSettings,
}: {
  text: string | null
  file: string
  overrides: Settings
  parse?: typeof parseSettings
}): Policy => {
  if (Buffer.byteLength(JSON.stringify(overrides)) > MOST_BYTES) throw badSettings('overrides', [tooLarge('they are too large', 0)])
  const given = text === null ? {} : parse(text, file)
  const resolved = policy.safeParse({
    ...given,
    ...defined(overrides),
    ...nested('sessions', given, overrides),
    ...nested('limits', given, overrides),
    ...nested('agent', given, overrides),
  })
  if (resolved.success) return resolved.data
  throw badSettings(
    file || 'overrides',
    [...resolved.error.issues].map((issue) => problemOf(issue, () => [0, 0])),
  )
}

const tooLarge = (message: string, line: number): Problem => ({
  line,
  column: line,
  key: '',
  message,
  allowed: `at most ${MOST_BYTES / 1024} KB`,
})

const defined = <T extends object>(value: T): Partial<T> =>
  Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined)) as Partial<T>

const nested = (key: 'sessions' | 'limits' | 'agent', file: Settings, overrides: Settings): Settings =>
  file[key] || overrides[key] ? { [key]: { ...file[key], ...defined(overrides[key] ?? {}) } } : {}

/** The settings that a file's text holds, and no more than it holds. Errors: BadSettings. */
export const parseSettings = (text: string, file: string): Settings => parseYaml(text, file, settings)

/** The mapping that a text of YAML holds, as the schema takes it; an empty file is an empty mapping. Errors: BadSettings. */
export const parseYaml = <T>(text: string, file: string, schema: z.ZodType<T>): T => {
  if (Buffer.byteLength(text) > MOST_BYTES) throw badSettings(file, [tooLarge('the file is too large', 1)])
  const { document, lines } = readYaml(text, file)
  const at = (offset: number): [number, number] => {
    const { line, col } = lines.linePos(offset)
    return [line, col]
  }
  if (document.contents === null || (isScalar(document.contents) && document.contents.value === null)) return schema.parse({})
  if (!isMap(document.contents)) {
    const [line, column] = at(document.contents.range?.[0] ?? 0)
    throw badSettings(file, [{ line, column, key: '', message: 'the file holds no keys', allowed: 'a mapping of keys to values' }])
  }
  const parsed = schema.safeParse(document.toJS({ maxAliasCount: 0 }))
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.flatMap((issue): z.core.$ZodIssue[] =>
    issue.code === 'unrecognized_keys' ? issue.keys.map((key) => ({ ...issue, path: [...issue.path, key] })) : [issue],
  )
  // Working out where one stands takes a walk through the file, so a file full of them has the first ones shown.
  const worked = issues.slice(0, MOST_WORKED_OUT)
  const words = z.toJSONSchema(schema, { io: 'input' }) as JsonSchema
  const problems = worked.map((issue) =>
    problemOf(issue, (path) => at(offsetOf(document, path, issue.code === 'unrecognized_keys')), words),
  )
  throw badSettings(file, problems, undefined, issues.length - worked.length)
}

const readYaml = (text: string, file: string): { document: Document.Parsed; lines: LineCounter } => {
  const lines = new LineCounter()
  const problem = (offset: number, message: string): Problem => {
    const { line, col } = lines.linePos(offset)
    return { line, column: col, key: '', message, allowed: null }
  }
  let document: Document.Parsed
  try {
    document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: true, strict: true, logLevel: 'error' })
  } catch (cause) {
    // The parser recurses: brackets in brackets without end are more than its stack holds.
    throw badSettings(file, [{ line: 1, column: 1, key: '', message: 'not YAML that can be read', allowed: null }], cause)
  }
  const faults = [...document.errors, ...document.warnings].map(({ code, pos, message }) =>
    problem(pos[0], code === 'MULTIPLE_DOCS' ? 'more than one document in the file' : message),
  )
  visit(document, (_key, node) => {
    if (isAlias(node) || (isNode(node) && 'anchor' in node && node.anchor))
      faults.push(problem((node as ParsedNode).range[0], 'anchors and aliases are not allowed: write the value out'))
  })
  // One fault of each kind: the rest mostly follows from the first.
  if (faults.length) throw badSettings(file, [...new Map(faults.toReversed().map((fault) => [fault.message, fault])).values()].toReversed())
  return { document, lines }
}

/** Where a value stands, or its key; where neither does (a key is missing), what should hold it. */
const offsetOf = (document: Document.Parsed, path: readonly PropertyKey[], wantsKey: boolean): number => {
  for (let length = path.length; length >= 0; length--) {
    const parent = length > 0 ? document.getIn(path.slice(0, length - 1), true) : null
    const name = String(path[length - 1])
    const pair = isMap(parent) ? parent.items.find(({ key }) => String(isScalar(key) ? key.value : key) === name) : undefined
    const node = wantsKey && pair ? pair.key : document.getIn(path.slice(0, length), true)
    if (isNode(node) && node.range) return node.range[0]
    if (pair && isNode(pair.key) && pair.key.range) return pair.key.range[0]
  }
  return 0
}

const problemOf = (
  issue: z.core.$ZodIssue,
  place: (path: readonly PropertyKey[]) => [number, number],
  words: JsonSchema = settingsJsonSchema(),
): Problem => {
  const [line, column] = place(issue.path)
  const key = oneLine(issue.path.map(String).join('.'), 100)
  if (issue.code === 'unrecognized_keys')
    return { line, column, key, message: 'unknown key', allowed: allowedAt(words, issue.path.slice(0, -1)) }
  const custom = issue.code === 'custom' || (issue.code === 'invalid_format' && !issue.message.startsWith('Invalid')) ? issue.message : null
  return { line, column, key, message: 'wrong value', allowed: custom ?? allowedAt(words, issue.path) }
}

const badSettings = (file: string, found: readonly Problem[], cause?: unknown, others = 0): LoopError => {
  const problems = found.toSorted((a, b) => a.line - b.line || a.column - b.column)
  const lines = problems.slice(0, MOST_PROBLEMS).map(({ line, column, key, message, allowed }) => {
    const where = line > 0 ? `${file}:${line}:${column}` : file
    return `${where}: ${key && `${key}: `}${oneLine(message)}${allowed === null ? '' : `; allowed: ${allowed}`}`
  })
  const left = Math.max(0, problems.length - MOST_PROBLEMS) + others
  const more = left > 0 ? [`and ${left} more`] : []
  return new LoopError('BadSettings', [...lines, ...more].join('\n'), { file, problems: problems.slice(0, MOST_PROBLEMS) }, { cause })
}
