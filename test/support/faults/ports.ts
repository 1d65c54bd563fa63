/** The adapters as one process has them: each call is an effect, which the seed may let fail, and what took is shown to the monitor. */
import { NO_DEPLOYMENT } from '../../../lib/loop/deployment.ts'
import type { Executions, ItemStore, Ports } from '../../../lib/loop/ports.ts'
import type { Workspace, Workspaces } from '../../../lib/loop/workspace.ts'
import { seededAgent } from './agent.ts'
import { perform, workers, type Effect, type Life } from './effect.ts'
import type { World } from './world.ts'

type Act = <T>(effect: Effect, act: () => Promise<T>) => Promise<T>

const itemsOf = <Key, Item>(
  act: Act,
  port: Effect['port'],
  store: ItemStore<Key, Item>,
  nameOf: (key: Key) => string,
  written: (item: Item) => void,
): ItemStore<Key, Item> => ({
  read: (key) => act({ port, name: `${port} read ${nameOf(key)}`, writes: false }, () => store.read(key)),
  write: (key, item) =>
    act({ port, name: `${port} write ${nameOf(key)}`, writes: true }, async () => {
      const took = await store.write(key, item)
      if (took) written(item)
      return took
    }),
})

export const faultyPorts = (world: World, life: Life, adapters: Ports, engine: Executions): Ports => {
  const { monitor, place } = world
  const act: Act = (effect, run) => perform(world, life, effect, run)
  const { workspaces, forge } = place.adapt(adapters)
  const { runs, sessions, artifacts } = adapters
  const agent = seededAgent(world)
  return {
    sessions: itemsOf(
      act,
      'sessions',
      sessions,
      ({ runId, role }) => `${world.tag(runId)}#${role}`,
      (item) => monitor.turnItemWritten(item),
    ),
    runs: {
      ...runs,
      runs: itemsOf(
        act,
        'runs',
        runs.runs,
        (runId) => world.tag(runId),
        (item) => monitor.runItemWritten(item),
      ),
      branches: itemsOf(
        act,
        'branches',
        runs.branches,
        () => '',
        (item) => monitor.branchItemWritten(item),
      ),
      turns: (runId) => act({ port: 'history', name: `history of ${world.tag(runId)}`, writes: false }, () => runs.turns(runId)),
      addTurn: (runId, record) =>
        act({ port: 'history', name: `history of ${world.tag(runId)} turn ${record.turn}`, writes: true }, () =>
          runs.addTurn(runId, record),
        ),
    },
    artifacts: {
      get: (key) => act({ port: 'artifacts', name: `get ${world.nameOf(key)}`, writes: false }, () => artifacts.get(key)),
      put: (key, bytes) =>
        act({ port: 'artifacts', name: `put ${world.nameOf(key)}`, writes: true }, async () => {
          await artifacts.put(key, bytes)
          monitor.objectWritten(key, bytes, world.runOf(key))
        }),
      deleteAll: (prefix) =>
        act({ port: 'artifacts', name: `delete ${world.nameOf(prefix)}`, writes: true }, () => artifacts.deleteAll(prefix)),
    },
    workspaces: faultyWorkspaces(world, act, workspaces),
    agents: {
      find: async () => [
        {
          ...agent,
          run: (turn) =>
            act({ port: 'agent', name: `agent ${world.tag(turn.runId)} ${turn.role} ${turn.turn}`, writes: false, alone: false }, () =>
              agent.run(turn),
            ),
        },
      ],
    },
    forge: {
      branchHead: (repository, branch) =>
        act({ port: 'forge', name: `tip of ${branch}`, writes: false }, () => forge.branchHead(repository, branch)),
      publish: (request) =>
        act({ port: 'forge', name: `publish ${world.nameOf(request.target)}`, writes: true }, async () => {
          const outcome = await forge.publish(request)
          const runId = world.runOf(request.info.pack) ?? ''
          if (outcome === 'published') monitor.pushed(runId, request.target, request.commit, await runs.runs.read(runId))
          return outcome
        }),
    },
    teller: null,
    announce: async () => undefined,
    notify: async () => undefined,
    executions: {
      start: (name, input) =>
        act({ port: 'executions', name: `start ${world.nameOf(name)}`, writes: true }, () =>
          workers.run(null, () => engine.start(name, input)),
        ),
      stop: (name) => act({ port: 'executions', name: `stop ${world.nameOf(name)}`, writes: true }, () => engine.stop(name)),
      wake: (token) => act({ port: 'executions', name: 'wake', writes: true }, () => engine.wake(token)),
    },
    effects: {
      owner: life.id,
      now: () => world.clock,
      nonce: () => world.nonce(),
      log: (level, message, facts = {}) => monitor.read(`log of ${life.id}`, `${level} ${message} ${JSON.stringify(facts)}`),
      happened: (what) => monitor.told(what),
    },
    defaultAgents: ['seeded'],
    deployment: NO_DEPLOYMENT,
  }
}

const faultyWorkspaces = (world: World, act: Act, workspaces: Workspaces): Workspaces => {
  const wrap = (workspace: Workspace): Workspace => {
    const files = <T>(name: string, run: () => Promise<T>) => act({ port: 'files', name: `files ${name}`, writes: false }, run)
    const { edits } = workspace
    return {
      root: workspace.root,
      get commit() {
        return workspace.commit
      },
      files: {
        list: () => files('list', () => workspace.files.list()),
        read: (path, most) => files(`read ${path}`, () => workspace.files.read(path, most)),
      },
      edits: edits && {
        write: (path, bytes) => files(`write ${path}`, () => edits.write(path, bytes)),
        edit: (path, before, after) => files(`edit ${path}`, () => edits.edit(path, before, after)),
        remove: (path) => files(`remove ${path}`, () => edits.remove(path)),
      },
      diff: () => files('diff', () => workspace.diff()),
      changed: () => files('changed', () => workspace.changed()),
      commitAll: (message, time) => files('commit', () => workspace.commitAll(message, time)),
      saveWork: () => files('save', () => workspace.saveWork()),
      patch: () => files('patch', () => workspace.patch()),
      restore: () => files('restore', () => workspace.restore()),
      restoreCommit: () => files('restore commit', () => workspace.restoreCommit()),
      // Nobody learns of a folder that could not be removed: it fails nothing.
      close: () => workspace.close(),
    }
  }
  return {
    fetch: (source, limits, signal) =>
      act({ port: 'source', name: 'fetch', writes: false }, () => workspaces.fetch(source, limits, signal)),
    compare: (options) => workspaces.compare(options),
    open: async (options) => {
      // Git goes by the machine's own time.
      const open = () => workspaces.open({ ...options, deadline: Date.now() + options.deadline - world.clock })
      const opened = await act({ port: 'source', name: 'open', writes: false }, open)
      const worker = workers.getStore()
      if (worker) worker.commit = opened.commit
      return wrap(opened)
    },
  }
}
