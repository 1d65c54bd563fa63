/** Looks on: every item written, every object, call and push is shown to it, and the first thing that must not be is kept. */
import type { AgentTurn } from '../../../lib/loop/agent.ts'
import type { BranchItem, RunItem, TurnItem } from '../../../lib/loop/items.ts'
import type { Forge, Ports } from '../../../lib/loop/ports.ts'
import type { RunState } from '../../../lib/loop/run.ts'
import type { TaskState, TurnRole } from '../../../lib/names.ts'
import { AgentWatch } from './agent-watch.ts'
import { RunWatch } from './run-watch.ts'
import type { Worker } from './worker.ts'
import { TurnWatch } from './turn-watch.ts'
import type { World } from './world.ts'

export const SEEN = [
  'turn finished',
  'turn entered again',
  'turn entered again by a newer execution',
  'turn entered again when its lease was over',
  'late worker discarded',
  'session attached',
  'checkpoint continued',
  'expired item claimed',
  'fix commit made',
  'push',
  'decision of a person',
  'decision refused',
  'question expired',
  'run resumed',
  'run ended from outside',
  'Close taken up again',
  'Close repeated',
  'stale execution ended silently',
  'answer lost',
  'request landed late',
  'worker crashed',
  'process killed',
  'item deleted by TTL',
] as const
export type Seen = (typeof SEEN)[number]

export class Monitor {
  violation: string | null = null
  readonly seen: Partial<Record<Seen, number>> = {}
  /** Why a run may fail: rows of the catalogue that the schedule brought about. */
  readonly excuses = new Set<string>()
  readonly turns: TurnWatch
  readonly runs: RunWatch
  readonly agents: AgentWatch
  /** Turns in the history, by their keys. */
  readonly history = new Map<string, { turn: number; fence: number }>()
  /** Runs of which a Close has done all that it does. */
  readonly closed = new Set<string>()
  /** Objects of a role stored after its tombstone: by workers that had begun before it. */
  readonly late = new Set<string>()
  /** Runs of which a Close has answered. */
  readonly #answers = new Set<string>()
  readonly #world: World

  constructor(world: World) {
    this.#world = world
    this.turns = new TurnWatch(world, this)
    this.runs = new RunWatch(world, this)
    this.agents = new AgentWatch(world, this)
  }

  /** Counts what came about, so that a test can tell that schedules reach what they are about. */
  saw(what: Seen): void {
    this.seen[what] = (this.seen[what] ?? 0) + 1
  }

  violate(what: string): void {
    if (this.violation !== null) return
    this.violation = what
    this.#world.scheduler.note(`VIOLATION: ${what}`)
  }

  excuse(error: string): void {
    this.excuses.add(error)
  }

  /** A put that took. */
  written(worker: Worker, table: string, key: string, item: Record<string, unknown>): void {
    const { pk: _pk, sk, ...rest } = item
    if (table === 'Sessions') this.turns.written(worker, key, rest as TurnItem)
    else if (String(sk).startsWith('turn#')) this.history.set(key, { turn: item['turn'] as number, fence: item['fence'] as number })
    else if (sk === 'run') this.runs.written(worker, rest as RunItem)
    else if (sk === 'branch') this.runs.branchWritten(worker, rest as BranchItem)
  }

  /** A state's function has answered. */
  answered(worker: Worker, state: TaskState, runId: string): void {
    if (state === 'Close' && this.#answers.has(runId)) this.saw('Close repeated')
    if (state === 'Close') this.#answers.add(runId)
    if (state === 'Park') this.runs.parked(worker)
  }

  stored(key: string, bytes: Uint8Array): void {
    const left = this.turns.left.get(key)
    if (left && Buffer.compare(left, bytes) !== 0) this.violate(`${key}, which a finished turn left, was overwritten`)
    const [, role, runId = ''] = key.split('/')
    if (this.turns.itemOf(runId, role as TurnRole)?.closed) this.late.add(key)
  }

  deleted(prefix: string): void {
    const runId = /r-[0-9a-f]{16}/.exec(prefix)?.[0] ?? ''
    if (!this.turns.isBuried(runId)) this.violate(`${prefix} was deleted before every item of the run was a tombstone`)
  }

  opened(worker: Worker, options: Parameters<Ports['workspaces']['open']>[0]): void {
    this.agents.opened(worker, options)
  }

  agentCalled(worker: Worker, turn: AgentTurn, call: number): void {
    this.agents.called(worker, turn, call)
  }

  pushed(worker: Worker, request: Parameters<Forge['publish']>[0]): void {
    this.runs.pushed(worker, request)
  }

  woken(worker: Worker, token: string): void {
    this.runs.woken(worker, token)
  }

  executionStarted(name: string, input: RunState, before: RunState | null): void {
    this.runs.executionStarted(name, input, before)
  }
}
