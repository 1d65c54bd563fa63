/** The table of what each function may do, made from the table that its role is made from. */
import { ACCESS, type TableAccess } from '../lib/infra/access.ts'
import { code, table } from './table.ts'
import { type FunctionName, TABLE } from '../lib/names.ts'

/** Kinds of items by the pattern of their partition key; throws for one that has no name here. */
const KINDS: Record<string, string> = {
  [`r-${'?'.repeat(16)}`]: 'runs',
  'branch#*': 'branches',
  'delivery#*': 'deliveries',
  'budget#*': 'budgets',
  '*#reviewer': 'reviewer',
  '*#fixer': 'fixer',
  '*#certifier': 'certifier',
  [TABLE.runSk]: 'list of runs',
}
const kind = (key: string): string => {
  const name = KINDS[key]
  if (name === undefined) throw new Error(`no name for items like ${key}`)
  return name
}

const VERBS: Record<TableAccess['actions'][number], string> = { GetItem: 'read', PutItem: 'write', UpdateItem: 'add to', Query: 'query' }

const items = (entries: readonly TableAccess[]): string =>
  entries.map(({ actions, keys }) => `${actions.map((action) => VERBS[action]).join(', ')}: ${keys.map(kind).join(', ')}`).join('; ')

const prefixes = (all: readonly string[]): string => all.map((prefix) => code(`${prefix}/`)).join(', ')

/** What a row of the access table allows beside items and objects. */
const others = (name: FunctionName): string => {
  const { machine, gitToken, pushToken, githubKey, hookSecret, announce, notify, model } = ACCESS[name]
  return [
    ...machine.map((action) => code(`states:${action}`)),
    ...(gitToken ? ['reads the git token that reads'] : []),
    ...(pushToken ? ['reads the git token that pushes'] : []),
    ...(githubKey ? ["reads the App's key"] : []),
    ...(hookSecret ? ["reads the webhooks' secret"] : []),
    ...(announce ? ['calls `Publish`'] : []),
    ...(notify ? ['tells people by the topic'] : []),
    ...(model ? ["calls the agents' models, or reads their key"] : []),
  ].join('; ')
}

/** Every function: items of the two tables, objects of the bucket, and the rest. */
export const permissionsTable = (): string =>
  table(
    ['Function', 'Items of Sessions', 'Items of Runs', 'Reads objects', 'Writes objects (and reads them)', 'Deletes objects', 'And'],
    (Object.keys(ACCESS) as FunctionName[]).map((name) => {
      const { sessions, runs, get, put, delete: remove } = ACCESS[name]
      return [code(name), items(sessions), items(runs), prefixes(get), prefixes(put), prefixes(remove), others(name)]
    }),
  )
