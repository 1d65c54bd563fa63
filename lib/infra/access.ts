/** What each function may do, and nothing else: one table, from which the statements are built. */
import { type FunctionName, STATE_OF_ROLE, TABLE, TURN_ROLES, type TurnRole } from '../names.ts'

/** Items of a table whose partition key is like one of `keys` (`*` any text, `?` one character). */
export interface TableAccess {
  actions: readonly ('GetItem' | 'PutItem' | 'UpdateItem' | 'Query')[]
  keys: readonly string[]
  /** Of an index of the table, and then the keys are the index's; absent: of the table itself. */
  index?: string
}
export interface Access {
  sessions: readonly TableAccess[]
  runs: readonly TableAccess[]
  /** Prefixes of object keys. Whoever may put may read it again: objects are immutable, and a second put compares. */
  get: readonly string[]
  put: readonly string[]
  delete: readonly string[]
  machine: readonly ('StartExecution' | 'StopExecution' | 'SendTaskSuccess')[]
  /** Reads the git token that reads. */
  gitToken: boolean
  /** Reads the git token that pushes, where it is another. */
  pushToken: boolean
  /** Reads the private key of the GitHub App, where the deployment has one. */
  githubKey: boolean
  /** Reads the secret that webhooks are signed with. */
  hookSecret: boolean
  /** Calls Publish, asynchronously, when a forge is to be told how a run stands. */
  announce: boolean
  /** Tells people by the topic. */
  notify: boolean
  /** Calls the models of the deployment's agents: by its own right, or with a key that it may read. */
  model: boolean
}

const RUN = `r-${'?'.repeat(16)}`
const BRANCH = 'branch#*'
const DELIVERY = 'delivery#*'
const BUDGET = 'budget#*'
const itemsOf = (...roles: TurnRole[]): string[] => roles.map((role) => `*#${role}`)

const read = (...keys: string[]): TableAccess => ({ actions: ['GetItem'], keys })
const readWrite = (...keys: string[]): TableAccess => ({ actions: ['GetItem', 'PutItem'], keys })
/** What is left for one more run. */
const budgets: TableAccess = { actions: ['GetItem', 'UpdateItem'], keys: [BUDGET] }
const count: TableAccess = { actions: ['UpdateItem'], keys: [BUDGET] }
const history: TableAccess = { actions: ['Query'], keys: itemsOf(...TURN_ROLES) }
const runsByTime: TableAccess = { actions: ['Query'], keys: [TABLE.runSk], index: TABLE.runsByTime }

const nothing: Access = {
  sessions: [],
  runs: [],
  get: [],
  put: [],
  delete: [],
  machine: [],
  gitToken: false,
  pushToken: false,
  githubKey: false,
  hookSecret: false,
  announce: false,
  notify: false,
  model: false,
}

/** A turn reaches its own role's item, history and transcripts. What crosses between roles is records and changesets. */
const turn = (role: TurnRole, more: Pick<Access, 'get' | 'put'> = { get: [], put: [] }): Access => ({
  ...nothing,
  sessions: [readWrite(...itemsOf(role))],
  runs: [{ actions: ['PutItem'], keys: itemsOf(role) }, count],
  get: ['source', 'records', 'changesets', `transcripts/${role}`, ...more.get],
  put: [`records/${role}`, `transcripts/${role}`, ...more.put],
  model: true,
})

export const ACCESS: Record<FunctionName, Access> = {
  Prepare: {
    ...nothing,
    runs: [read(RUN, BRANCH)],
    get: ['uploads'],
    put: ['source', 'changesets/prepare'],
    gitToken: true,
    announce: true,
  },
  [STATE_OF_ROLE.reviewer]: turn('reviewer'),
  [STATE_OF_ROLE.fixer]: turn('fixer', { get: ['decisions', 'work/fixer'], put: ['changesets/fixer', 'work/fixer'] }),
  [STATE_OF_ROLE.certifier]: turn('certifier'),
  Park: {
    ...nothing,
    sessions: [readWrite(...itemsOf(...TURN_ROLES))],
    runs: [readWrite(RUN)],
    get: ['records'],
    // A question that was answered before the run got here wakes it at once.
    machine: ['SendTaskSuccess'],
    announce: true,
    notify: true,
  },
  // What a person declined is remembered by the branch at once.
  Decide: { ...nothing, runs: [readWrite(RUN, BRANCH)], get: ['records'], put: ['decisions'], announce: true },
  Publish: {
    ...nothing,
    sessions: [read(...itemsOf(...TURN_ROLES))],
    runs: [readWrite(RUN, BRANCH)],
    get: ['source', 'records', 'changesets'],
    pushToken: true,
    githubKey: true,
  },
  RecordFailure: {
    ...nothing,
    sessions: [read(...itemsOf(...TURN_ROLES))],
    runs: [readWrite(RUN)],
    machine: ['StartExecution', 'StopExecution'],
    announce: true,
  },
  Close: {
    ...nothing,
    sessions: [readWrite(...itemsOf(...TURN_ROLES))],
    runs: [readWrite(RUN, BRANCH), { actions: ['PutItem'], keys: itemsOf(...TURN_ROLES) }, count],
    get: ['source', 'records', 'changesets'],
    put: ['reports'],
    delete: [...TURN_ROLES.map((role) => `transcripts/${role}`), 'work/fixer'],
    announce: true,
    notify: true,
  },
  Start: {
    ...nothing,
    sessions: [read(...itemsOf(...TURN_ROLES))],
    runs: [readWrite(RUN, BRANCH), budgets],
    machine: ['StartExecution', 'StopExecution'],
    gitToken: true,
    announce: true,
    notify: true,
  },
  Show: { ...nothing, runs: [read(RUN), history, runsByTime] },
  Report: { ...nothing, runs: [read(RUN), history], get: ['reports', 'records', 'changesets'] },
  Answer: { ...nothing, runs: [readWrite(RUN)], get: ['records'], machine: ['SendTaskSuccess'] },
  Abort: {
    ...nothing,
    sessions: [read(...itemsOf(...TURN_ROLES))],
    runs: [readWrite(RUN)],
    machine: ['StartExecution', 'StopExecution'],
  },
  Upload: { ...nothing, put: ['uploads'] },
  // Starts runs, and in comments people command them.
  Webhook: {
    ...nothing,
    sessions: [read(...itemsOf(...TURN_ROLES))],
    runs: [readWrite(RUN, BRANCH, DELIVERY), budgets],
    get: ['records'],
    put: ['deliveries'],
    machine: ['StartExecution', 'StopExecution', 'SendTaskSuccess'],
    gitToken: true,
    hookSecret: true,
    announce: true,
    notify: true,
  },
  Watch: { ...nothing, runs: [runsByTime] },
}
