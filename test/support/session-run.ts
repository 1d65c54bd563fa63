/** A run of its own for each test of a file, on tables that the file shares, with one agent that does as it is told. */
import { afterAll, beforeAll, beforeEach } from 'vitest'
import type { AgentResult } from '../../lib/loop/agent.ts'
import type { SessionRecord, TurnItem } from '../../lib/loop/items.ts'
import { emptyRecord, type RunRecord } from '../../lib/loop/record.ts'
import type { Role, TurnRole } from '../../lib/names.ts'
import { FakeEffects } from './clock.ts'
import { startTables, type Tables } from './tables.ts'
import { FakeAgent, usageOf } from './fake-agent.ts'
import { memoryArtifacts } from './memory-store.ts'
import { makePorts, stateOf, turnRecordOf } from './ports.ts'
import { Driver } from './turns.ts'

export const lost = (): AgentResult => ({ kind: 'session_lost', reason: 'no conversation found', usage: usageOf(1, 0) })

export const failed = (error: Extract<AgentResult, { kind: 'failed' }>['error']): AgentResult => ({
  kind: 'failed',
  error,
  reason: error,
  usage: usageOf(3, 0),
})

/** A record of a run in which something has happened. */
export const recordSoFar = (): RunRecord => ({ ...emptyRecord(), turns: [turnRecordOf()] })

class SessionRun {
  effects = new FakeEffects()
  agent = new FakeAgent()
  artifacts = memoryArtifacts()
  driver = new Driver(makePorts())
  #tables: Tables | null = null
  #ids = 0

  get tables(): Tables {
    if (!this.#tables) throw new Error('The tables are there only while a test runs.')
    return this.#tables
  }

  async open(): Promise<void> {
    this.#tables = await startTables()
  }

  reset(): void {
    this.effects = new FakeEffects()
    this.agent = new FakeAgent()
    this.artifacts = memoryArtifacts()
    this.driver = this.newDriver(this.anotherId())
  }

  anotherId = (): string => `r-${String(++this.#ids).padStart(16, '0')}`

  newDriver(runId: string, stores: Pick<Tables, 'sessions' | 'runs'> = this.tables): Driver {
    const { effects, artifacts } = this
    return new Driver({ sessions: stores.sessions, runs: stores.runs, artifacts, effects }, stateOf({ runId }))
  }

  runId = (): string => this.driver.state.runId
  itemOf = (role: TurnRole): Promise<TurnItem | null> => this.tables.sessions.read({ runId: this.runId(), role })
  sessionOf = async (role: Role): Promise<SessionRecord | null> => (await this.itemOf(role))?.session ?? null
  usedModes = (): string[] => this.agent.calls.map((call) => call.session.mode)

  /** Makes the stored item say something else, as only time or another process could. */
  async alter(role: Role, change: Partial<TurnItem>): Promise<void> {
    const item = await this.itemOf(role)
    const next = item && { ...item, ...change, rev: item.rev + 1, nonce: this.effects.nonce() }
    if (!next || !(await this.tables.sessions.write({ runId: this.runId(), role }, next)))
      throw new Error(`The ${role}'s item was not altered.`)
  }
}

/** To be called once, at the top of a test file. The run is another one in each test. */
export const sessionRun = (): SessionRun => {
  const run = new SessionRun()
  beforeAll(() => run.open())
  beforeEach(() => run.reset())
  afterAll(() => run.tables.close())
  return run
}
