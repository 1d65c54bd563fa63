/** Takes turns as the use cases do, with nothing else of them: claim, sessions, agents, finish. */
import type { Agent, Budget } from '../../lib/loop/agent.ts'
import type { Invocation, Ports } from '../../lib/loop/ports.ts'
import { fixOutput, reviewOutput } from '../../lib/loop/output.ts'
import { emptyRecord, type RunRecord, type TurnRecord } from '../../lib/loop/record.ts'
import type { RunState } from '../../lib/loop/run.ts'
import type { Served } from '../../lib/loop/served.ts'
import { isToBeResumed } from '../../lib/loop/attachment.ts'
import { RunSessions, runWithoutSession } from '../../lib/loop/sessions.ts'
import { type Claimed, takeTurn } from '../../lib/loop/turns.ts'
import type { Work } from '../../lib/loop/workspace.ts'
import { STATE_OF_ROLE, type TurnRole } from '../../lib/names.ts'
import { FakeWorkspace } from './fake-workspace.ts'
import { HEAD, invocationOf, policyOf, stateOf, turnRecordOf } from './ports.ts'

type DriverPorts = Pick<Ports, 'sessions' | 'runs' | 'artifacts' | 'effects'>

export interface TurnOptions {
  agents: [Agent, ...Agent[]]
  settings?: unknown
  record?: RunRecord
  invocation?: Partial<Invocation>
  budget?: Budget
  work?: Work
  lost?: string
  /** The state to begin from, where it is not the one the last turn led to. */
  state?: RunState
}

const openWorkspace = (role: TurnRole, work: Work | null = null): FakeWorkspace =>
  new FakeWorkspace({ 'a.js': 'one\n' }, { 'a.js': 'one\ntwo\n' }, HEAD, {
    info: {
      mergeBase: HEAD,
      headTime: 1_700_000_000,
      head: HEAD,
      base: HEAD,
      pack: 'source/r/x.pack',
      settings: null,
      headSettingsDiffer: false,
      files: 1,
      empty: false,
    },
    pack: new Uint8Array(),
    changeset: null,
    work,
    editable: role === 'fixer',
    limits: policyOf().limits,
    deadline: 0,
    signal: new AbortController().signal,
  })

/** One run, turn after turn, over the given stores. What the last turn was like can be looked at. */
export class Driver {
  readonly ports: DriverPorts
  state: RunState
  served: Served<unknown> | null = null
  claimed: Claimed | null = null
  workspace = openWorkspace('reviewer')

  constructor(ports: DriverPorts, state: RunState = stateOf()) {
    this.ports = ports
    this.state = state
  }

  async take(role: TurnRole, options: TurnOptions): Promise<TurnRecord> {
    const invocation = invocationOf(this.ports, options.invocation)
    let record: TurnRecord | null = null
    this.state = await takeTurn(this.ports, {
      role,
      state: options.state ?? this.state,
      invocation,
      work: async (claimed) => {
        const worked = await this.work(role, claimed, options, invocation)
        record = worked.record
        return worked
      },
    })
    return record ?? (await this.last())
  }

  async last(): Promise<TurnRecord> {
    const turn = (await this.ports.runs.turns(this.state.runId)).at(-1)
    if (!turn) throw new Error('no turn is in the history')
    return turn
  }

  async work(role: TurnRole, claimed: Claimed, options: TurnOptions, { deadline, signal, progress }: Invocation) {
    const { agents, settings, record = emptyRecord(), budget = { tokens: 1000, dollars: 10, calls: 80 }, lost } = options
    const policy = policyOf(settings)
    this.claimed = claimed
    this.workspace = openWorkspace(role, options.work)
    const common = { claimed, record, workspace: this.workspace, deadline, signal, progress, budget, ...(lost !== undefined && { lost }) }
    const task = { diff: [], policy, handOver: null }
    const served: Served<unknown> =
      role === 'certifier'
        ? await runWithoutSession(this.ports, agents, {
            ...common,
            schema: reviewOutput,
            task: { ...task, kind: 'certify', messages: [], outstanding: [], declined: [] },
          })
        : role === 'reviewer'
          ? await new RunSessions(this.ports, { runId: claimed.input.runId, policy }).run(role, agents, {
              ...common,
              schema: reviewOutput,
              task: { ...task, kind: 'review', messages: [], outstanding: [], declined: [] },
            })
          : await new RunSessions(this.ports, { runId: claimed.input.runId, policy }).run(role, agents, {
              ...common,
              schema: fixOutput,
              task: { ...task, kind: 'fix', findings: [], notes: {} },
            })
    this.served = served
    return { ...this.worked(role, claimed, served), toBeResumed: isToBeResumed(role, policy, claimed.item, claimed.input.round) }
  }

  worked(role: TurnRole, { input, turn, fence }: Claimed, served: Served<unknown>) {
    const { kind: ended, mode, why, agent, agentVersion, fingerprint, usage, session, checkpoint } = served
    const limit = ended === 'limit' ? served.limit : null
    const step = STATE_OF_ROLE[role]
    const last = step === 'Fix' ? { step, ended, limit, commits: 0 } : { step, ended, limit, open: { autoFix: 0, other: 0, stuck: 0 } }
    const { round, epoch } = input
    const facts = { mode, why, agent, agentVersion, fingerprint, usage, ended, limit }
    return { state: { ...input, turn, last }, record: turnRecordOf({ role, turn, round, fence, epoch, ...facts }), session, checkpoint }
  }
}
