/** Ports as one function has them in AWS: every call is asked of the policies first, and what is used is noted. */
import type { BudgetStore, ItemStore, Ports } from '../../lib/loop/ports.ts'
import { budgetKey, deliveryKey, type FunctionName, roleKey, TABLE, TURN_ROLES } from '../../lib/names.ts'
import type { Asker } from './iam.ts'
import { APP_SECRET, HOOK_SECRET, PUSH_SECRET, SECRET } from './template.ts'

/** One use of a right, as the access table names it. */
export interface Use {
  name: FunctionName
  right:
    | 'sessions'
    | 'runs'
    | 'get'
    | 'put'
    | 'delete'
    | 'machine'
    | 'gitToken'
    | 'pushToken'
    | 'githubKey'
    | 'hookSecret'
    | 'announce'
    | 'notify'
  action: string
  /** Partition key, object key or execution. */
  on: string
}

export interface Guard {
  used: Use[]
  denied: Use[]
  for: <P extends Ports>(ports: P, name: FunctionName) => P
  /** Reads the secret that webhooks are signed with. */
  readHookSecret: (name: FunctionName) => Promise<void>
}

const MACHINE = 'arn:aws:states:us-east-1:000000000000:stateMachine:reviewloop-test'
const executionArn = (name: string): string => `${MACHINE.replace(':stateMachine:', ':execution:')}:${name}`

const counters = (budgets: BudgetStore, ask: (action: string, scope: string) => Promise<void>): BudgetStore => {
  const asking =
    <Rest extends unknown[], T>(action: string, call: (scope: string, ...rest: Rest) => Promise<T>) =>
    async (scope: string, ...rest: Rest): Promise<T> => {
      await ask(action, scope)
      return call(scope, ...rest)
    }
  return {
    add: asking('UpdateItem', (...of: Parameters<BudgetStore['add']>) => budgets.add(...of)),
    spent: asking('GetItem', (...of: Parameters<BudgetStore['spent']>) => budgets.spent(...of)),
    tellOnce: asking('UpdateItem', (...of: Parameters<BudgetStore['tellOnce']>) => budgets.tellOnce(...of)),
    places: asking('GetItem', (...of: Parameters<BudgetStore['places']>) => budgets.places(...of)),
    enter: asking('UpdateItem', (...of: Parameters<BudgetStore['enter']>) => budgets.enter(...of)),
    leave: asking('UpdateItem', (...of: Parameters<BudgetStore['leave']>) => budgets.leave(...of)),
  }
}

export const guard = (may: Asker, wakes: readonly FunctionName[]): Guard => {
  const used: Use[] = []
  const denied: Use[] = []

  const checkFor = async (name: FunctionName, use: Omit<Use, 'name'>, allowed: Promise<boolean> | boolean): Promise<void> => {
    const entry = { name, ...use }
    used.push(entry)
    if (await allowed) return
    denied.push(entry)
    throw new Error(`${name} may not ${use.action} ${use.on}`)
  }
  const readHookSecret = (name: FunctionName) =>
    checkFor(
      name,
      { right: 'hookSecret', action: 'GetSecretValue', on: HOOK_SECRET },
      may.other(name, 'secretsmanager:GetSecretValue', HOOK_SECRET),
    )

  const wrap = <P extends Ports>(ports: P, name: FunctionName): P => {
    const check = (use: Omit<Use, 'name'>, allowed: Promise<boolean> | boolean) => checkFor(name, use, allowed)
    const item = (right: 'sessions' | 'runs', action: string, on: string, index?: string) => {
      const part = right === 'sessions' ? 'Sessions' : 'Runs'
      return check({ right, action, on }, index ? may.indexed(name, part, index, action, on) : may.item(name, part, action, on))
    }
    const object = (right: 'get' | 'put' | 'delete', action: string, on: string) =>
      check({ right, action, on }, may.object(name, action, on))
    const forge = () => {
      const [right, on] = name === 'Publish' ? (['pushToken', PUSH_SECRET] as const) : (['gitToken', SECRET] as const)
      return check({ right, action: 'GetSecretValue', on }, may.other(name, 'secretsmanager:GetSecretValue', on))
    }
    const items = <Key, Item>(store: ItemStore<Key, Item>, right: 'sessions' | 'runs', pk: (key: Key) => string): ItemStore<Key, Item> => ({
      read: async (key) => {
        await item(right, 'GetItem', pk(key))
        return store.read(key)
      },
      write: async (key, value) => {
        await item(right, 'PutItem', pk(key))
        return store.write(key, value)
      },
    })
    return {
      ...ports,
      sessions: items(ports.sessions, 'sessions', ({ runId, role }) => roleKey(runId, role)),
      runs: {
        ...ports.runs,
        runs: items(ports.runs.runs, 'runs', (runId) => runId),
        nights: items(ports.runs.nights, 'runs', (key) => key),
        branches: items(ports.runs.branches, 'runs', (key) => key),
        forges: items(ports.runs.forges, 'runs', (runId) => runId),
        deliveries: items(ports.runs.deliveries, 'runs', deliveryKey),
        budgets: counters(ports.runs.budgets, (action, scope) => item('runs', action, budgetKey(scope))),
        addTurn: async (runId, record) => {
          await item('runs', 'PutItem', roleKey(runId, record.role))
          return ports.runs.addTurn(runId, record)
        },
        turns: async (runId) => {
          for (const role of TURN_ROLES) await item('runs', 'Query', roleKey(runId, role))
          return ports.runs.turns(runId)
        },
        page: async (query) => {
          await item('runs', 'Query', TABLE.runSk, TABLE.runsByTime)
          return ports.runs.page(query)
        },
      },
      artifacts: {
        get: async (key) => {
          await object('get', 'GetObject', key)
          return ports.artifacts.get(key)
        },
        // A key that is taken is read and compared.
        put: async (key, bytes) => {
          await object('put', 'PutObject', key)
          await object('put', 'GetObject', key)
          return ports.artifacts.put(key, bytes)
        },
        deleteAll: async (prefix) => {
          await check({ right: 'delete', action: 'ListBucket', on: prefix }, may.list(name, prefix))
          await object('delete', 'DeleteObject', `${prefix}1.1`)
          return ports.artifacts.deleteAll(prefix)
        },
      },
      executions: {
        start: async (execution, input) => {
          await check({ right: 'machine', action: 'StartExecution', on: execution }, may.other(name, 'states:StartExecution', MACHINE))
          return ports.executions.start(execution, input)
        },
        stop: async (execution) => {
          await check(
            { right: 'machine', action: 'StopExecution', on: execution },
            may.other(name, 'states:StopExecution', executionArn(execution)),
          )
          return ports.executions.stop(execution)
        },
        // The simulator knows no resource for this action: the table is asked instead.
        wake: async (token) => {
          await check({ right: 'machine', action: 'SendTaskSuccess', on: token }, wakes.includes(name))
          return ports.executions.wake(token)
        },
      },
      teller: ports.teller && {
        tells: (repository) => ports.teller?.tells(repository) ?? false,
        tell: async (...args) => {
          const allowed = may.other(name, 'secretsmanager:GetSecretValue', APP_SECRET)
          await check({ right: 'githubKey', action: 'GetSecretValue', on: APP_SECRET }, allowed)
          await ports.teller?.tell(...args)
        },
      },
      announce: async (runId, hint) => {
        await check({ right: 'announce', action: 'InvokeFunction', on: 'Publish' }, may.call(name, 'Publish'))
        return ports.announce(runId, hint)
      },
      notify: async (notice) => {
        await check({ right: 'notify', action: 'Publish', on: 'Topic' }, may.publish(name))
        return ports.notify(notice)
      },
      workspaces: {
        open: (options) => ports.workspaces.open(options),
        compare: (options) => ports.workspaces.compare(options),
        fetch: async (...args) => {
          await forge()
          return ports.workspaces.fetch(...args)
        },
      },
      forge: {
        branchHead: async (...args) => {
          await forge()
          return ports.forge.branchHead(...args)
        },
        publish: async (request) => {
          await forge()
          return ports.forge.publish(request)
        },
      },
    }
  }
  return { used, denied, for: wrap, readHookSecret }
}
