/** The loop on one machine: the real adapters over a data folder, and the embedded engine. */
import { randomUUID } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { createAgents } from '../agents/registry.ts'
import type { ApiOptions } from '../forge/api-client.ts'
import { deployedForges } from '../forge/deployed.ts'
import { gitForge } from '../forge/git-forge.ts'
import { recordLostExecution } from '../loop/record-failure.ts'
import { DEFAULT_AGENTS, type Deployment, NO_DEPLOYMENT } from '../loop/deployment.ts'
import type { Effects, Ports } from '../loop/ports.ts'
import { redact } from '../loop/redact.ts'
import { ENV, type TaskState } from '../names.ts'
import { directoryArtifacts } from '../stores/directory/artifacts.ts'
import { socketClient } from '../stores/dynamodb/client.ts'
import { dynamoRuns } from '../stores/dynamodb/runs.ts'
import { createTables } from '../stores/dynamodb/schema.ts'
import { dynamoSessions } from '../stores/dynamodb/sessions.ts'
import type { TokenSource } from '../workspace/address.ts'
import { gitWorkspaces } from '../workspace/workspaces.ts'
import { announcer } from './announcer.ts'
import type { DataFolder } from './data-folder.ts'
import type { EngineEvent } from './engine-events.ts'
import { Engine } from './engine.ts'
import { executionNames } from './execution-names.ts'
import type { Handler } from './execution.ts'
import { handlersOf } from './handlers.ts'

export interface LoopOptions {
  /** Park waits in this process; else a run that parks ends its execution. */
  waits: boolean
  onEvent?: (event: EngineEvent) => void
  /** Told of warnings and errors of the use cases. */
  onLog?: (level: 'warn' | 'error', message: string) => void
  /** Scenario file of the scripted agent. */
  scenario?: string | undefined
  /** Agents where neither the settings nor the request name any. */
  agents?: readonly string[] | undefined
  /** Facts of a deployment that this engine stands in for; absent: any repository, no bound. */
  deployment?: Deployment | undefined
  /** Milliseconds between retries, in place of those of the definition: for tests. */
  retryInterval?: number
  /** The deployment's GitHub App: its forges are told how runs stand. By default no forge is told anything. */
  github?: ({ key: TokenSource } & Pick<ApiOptions, 'sleep'>) | undefined
  /** What stands between the use cases and the adapters: for tests. */
  ports?: (adapters: Ports) => Ports
  /** What stands between the engine and the handler of a state: for tests. */
  handler?: (state: TaskState, handler: Handler) => Handler
}

export interface LocalLoop {
  folder: DataFolder
  ports: Ports
  engine: Engine
  /** Closes the connections; the folder is its opener's to close. */
  close(): void
}

const TABLES = { sessions: 'Sessions', runs: 'Runs' }
const MOST_LOST = 3

const effectsOf = (owner: string, onLog: LoopOptions['onLog']): Effects => ({
  now: () => Date.now(),
  nonce: () => randomUUID(),
  owner,
  log: (level, message) => {
    if (level === 'warn' || level === 'error') onLog?.(level, redact(message))
  },
  happened: () => undefined,
})

const forges = ({ github, deployment = NO_DEPLOYMENT }: LoopOptions, gitToken: TokenSource, folder: string) => {
  if (!github) return { forge: gitForge({ token: gitToken, folder }), teller: null }
  const { key: githubKey, ...api } = github
  return deployedForges(deployment, { gitToken, githubKey }, { folder, ...api })
}

/** Opens the loop over a data folder; its tables are made where they are missing. */
export const openLoop = async (folder: DataFolder, options: LoopOptions): Promise<LocalLoop> => {
  const client = socketClient(folder.socket)
  if (folder.owned) await createTables(client, TABLES)
  const scratch = join(folder.path, 'scratch')
  await mkdir(scratch, { recursive: true, mode: 0o700 })
  const token = async () => process.env[ENV.gitToken] ?? null
  let lost = 0
  let handlers: Record<TaskState, Handler> | null = null
  const handlerOf = (state: TaskState): Handler => (handlers ??= handlersOf(ports))[state]
  const engine = new Engine({
    handler: (state) => options.handler?.(state, handlerOf(state)) ?? handlerOf(state),
    waits: options.waits,
    ...(options.retryInterval === undefined ? {} : { retryInterval: options.retryInterval }),
    ...(options.onEvent ? { onEvent: options.onEvent } : {}),
    claimName: executionNames(folder.path).claim,
    onFailed: async ({ name, error, cause }) => {
      // closing a lost run may fail for the same reason; trying that for ever would keep the process
      if (lost++ < MOST_LOST) await recordLostExecution(ports, { name, status: 'FAILED', error, cause })
    },
  })
  const adapters: Ports = {
    sessions: dynamoSessions({ client, table: TABLES.sessions }),
    runs: dynamoRuns({ client, table: TABLES.runs, small: true }),
    artifacts: directoryArtifacts(folder.artifacts),
    workspaces: gitWorkspaces({ token, folder: scratch }),
    agents: createAgents({ scenario: options.scenario }),
    ...forges(options, token, scratch),
    announce: announcer(() => ports),
    // Whoever runs it on a machine is there, or looks at the list.
    notify: async () => undefined,
    executions: engine,
    effects: effectsOf(folder.id, options.onLog),
    defaultAgents: options.agents ?? DEFAULT_AGENTS,
    deployment: options.deployment ?? NO_DEPLOYMENT,
  }
  const ports = options.ports?.(adapters) ?? adapters
  return { folder, ports, engine, close: () => client.destroy() }
}
