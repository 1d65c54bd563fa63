/** One schedule's world: the clock, the stores, the forge, the executions, and the workers that are given all of it. */
import { NO_DEPLOYMENT } from '../../../lib/loop/deployment.ts'
import type { Agents } from '../../../lib/loop/agent.ts'
import type { Invocation, Ports } from '../../../lib/loop/ports.ts'
import { FakeWorkspaces } from '../fake-workspace.ts'
import { Artifacts } from './artifacts.ts'
import { Executions } from './executions.ts'
import { Forge } from './forge.ts'
import { Monitor } from './monitor.ts'
import { Outside } from './outside.ts'
import type { Profile } from './profile.ts'
import { type Random, randomFrom } from './random.ts'
import { ScriptedAgent } from './scripted-agent.ts'
import { Scheduler } from './scheduler.ts'
import type { Worker } from './worker.ts'
import type { System } from './system.ts'
import { asClient, type TableClient } from './tables.ts'
import { watched } from './watched-tables.ts'

const T0 = Date.parse('2026-01-05T09:00:00.000Z')
export const TABLES = { sessions: 'Sessions', runs: 'Runs' }

/** What an invocation is known by: the run, the execution it belongs to, and until when it may run. Outside callers have no execution. */
export interface Duty {
  runId: string | null
  epoch: number | null
  /** Seconds */
  timeout: number
}

export class World {
  readonly seed: number
  readonly system: System
  readonly profile: Profile
  readonly random: Random
  readonly scheduler: Scheduler
  readonly tables: TableClient
  readonly monitor: Monitor
  readonly artifacts: Artifacts
  readonly forge: Forge
  readonly executions: Executions
  readonly outside: Outside
  readonly workspaces = new FakeWorkspaces()
  readonly agent: ScriptedAgent
  readonly duties = new WeakMap<Worker, Duty & { deadline: number }>()
  /** The process that holds the data folder; null in AWS. */
  owner: string | null
  /** Only fair things happen any more. */
  fair = false
  #nonces = 0

  constructor(options: { seed: number; system: System; profile: Profile; tables: TableClient; overwrites?: boolean }) {
    this.seed = options.seed
    this.system = options.system
    this.profile = options.profile
    this.random = randomFrom(options.seed * 2 + 1)
    this.scheduler = new Scheduler(this.random, T0)
    this.tables = options.tables
    this.monitor = new Monitor(this)
    this.artifacts = new Artifacts(this, options.overwrites ?? false)
    this.forge = new Forge(this)
    this.executions = new Executions(this)
    this.outside = new Outside(this)
    this.agent = new ScriptedAgent(this)
    this.owner = options.profile.embedded ? 'process-1' : null
  }

  get now(): number {
    return this.scheduler.now
  }

  nonce(): string {
    return `00000000-0000-4000-8000-${String(++this.#nonces).padStart(12, '0')}`
  }

  /** Runs a use case as a worker of its own. */
  call<T>(
    what: string,
    duty: Duty,
    body: (ports: Ports, invocation: Invocation, worker: Worker) => Promise<T>,
    onEnd: (end: { value: T } | { error: unknown }) => void = () => undefined,
  ): Worker {
    // Clocks of machines differ; one process has one clock.
    const skew = this.profile.embedded ? 0 : this.random.int(-20_000, 20_000)
    return this.scheduler.spawn(
      what,
      skew,
      (worker) => {
        const margin = Math.min(20, duty.timeout / 2)
        const deadline = this.now + (duty.timeout - margin) * 1000
        this.duties.set(worker, { ...duty, deadline })
        const invocation = { deadline: deadline + skew, signal: worker.controller.signal, progress: () => undefined }
        return body(this.portsOf(worker), invocation, worker)
      },
      onEnd,
    )
  }

  portsOf(worker: Worker): Ports {
    const { system, scheduler } = this
    const client = asClient(watched(this, worker))
    const { owner } = this
    const agents: Agents = { find: async () => [this.agent.of(worker)] }
    const unavailable = (name: 'FetchFailed' | 'GitTimedOut') => () => new system.LoopError(name, 'no answer')
    return {
      sessions: system.dynamoSessions({ client, table: TABLES.sessions }),
      runs: system.dynamoRuns({ client, table: TABLES.runs }),
      artifacts: this.artifacts.of(worker),
      workspaces: {
        fetch: (source, limits, signal) =>
          scheduler.effect(worker, {
            what: 'git fetch',
            writes: false,
            perform: () => this.workspaces.fetch(source, limits, signal),
            lost: unavailable('FetchFailed'),
          }),
        compare: (options) => this.workspaces.compare(options),
        open: (options) =>
          scheduler.effect(worker, {
            what: 'git checkout',
            writes: false,
            perform: () => {
              this.monitor.opened(worker, options)
              return this.workspaces.open(options)
            },
            lost: unavailable('GitTimedOut'),
          }),
      },
      agents,
      forge: this.forge.of(worker),
      teller: null,
      announce: async () => undefined,
      notify: async () => undefined,
      executions: this.executions.of(worker),
      effects: { now: () => this.now + worker.skew, nonce: () => this.nonce(), owner, log: () => undefined, happened: () => undefined },
      defaultAgents: [this.agent.id],
      deployment: NO_DEPLOYMENT,
    }
  }
}
