/** Reading deployment settings: a module with a default export, or JSON. What is wrong is said with file, key and remedy. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type * as z from 'zod'
import { describedAt, keysAt } from './settings-keys.ts'
import { type Settings, settings } from './settings.ts'

const keyOf = (path: readonly PropertyKey[]): string =>
  path.map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index ? '.' : ''}${String(part)}`)).join('')

/** Of a union zod says that nothing fitted: the option that came furthest says why. */
const deepest = (issue: z.core.$ZodIssue): z.core.$ZodIssue => {
  if (issue.code !== 'invalid_union' || !issue.errors.length) return issue
  const inner = issue.errors.flat().toSorted((a, b) => b.path.length - a.path.length)[0]
  return inner && inner.path.length ? deepest({ ...inner, path: [...issue.path, ...inner.path] }) : issue
}

const problems = (issue: z.core.$ZodIssue): string[] => {
  const { path, message, ...rest } = deepest(issue)
  if (rest.code === 'unrecognized_keys')
    return rest.keys.map((key) => `${keyOf([...path, key])}: there is no such key; take it out, or use one of ${keysAt(path).join(', ')}`)
  const holds = describedAt(path)
  return [`${keyOf(path) || 'the file'}: ${message}${holds === null ? '' : `; it holds ${holds}`}`]
}

/** Checks settings given as a value. Throws an Error that names every wrong key; `source` says where they came from. */
export const parseSettings = (value: unknown, source: string): Settings => {
  const parsed = settings.safeParse(value)
  if (parsed.success) return parsed.data
  const lines = parsed.error.issues.flatMap(problems).map((problem) => `- ${problem}`)
  throw new Error(`Deployment settings ${source} are not valid (keys: docs/deploy.md):\n${lines.join('\n')}`)
}

const load = async (file: string): Promise<unknown> => {
  if (!/\.[cm]?[jt]s$/.test(file)) return JSON.parse(readFileSync(file, 'utf8'))
  const module = (await import(pathToFileURL(file).href)) as { default?: unknown }
  if (module.default === undefined) throw new Error('it has no default export: write `export default { … }`')
  return module.default
}

/** Reads and checks the file. Throws an Error that names the file and what is wrong with it. */
export const readSettings = async (file: string): Promise<Settings> => {
  let value: unknown
  try {
    value = await load(resolve(file))
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`Deployment settings ${file} cannot be read: ${why}\nName a file with --context settings=FILE`, { cause })
  }
  return parseSettings(value, file)
}
