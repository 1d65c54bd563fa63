/** What must hold of what agents are given and of what is kept of them: no half-used transcript, the same task for the same turn. */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { AgentTurn, Transcript } from '../../../lib/loop/agent.ts'
import type { TurnItem } from '../../../lib/loop/items.ts'
import type { Ports } from '../../../lib/loop/ports.ts'
import type { Monitor } from './monitor.ts'
import type { Worker } from './worker.ts'
import type { World } from './world.ts'

type Kept = { id: string; transcript: string; checksum: string }

/** A call, and the working copy it wrote to. */
interface Call {
  turn: number
  transcript: Transcript
  /** Lines that the first call in this copy found there. */
  found: readonly unknown[]
}

export class AgentWatch {
  /** What finished turns stored, by key. */
  readonly #stored = new Map<string, readonly unknown[]>()
  readonly #calls = new WeakMap<Worker, Call>()
  /** What the first attempt at a turn was given to do. */
  readonly #tasks = new Map<string, string>()
  readonly #world: World
  readonly #monitor: Monitor

  constructor(world: World, monitor: Monitor) {
    this.#world = world
    this.#monitor = monitor
  }

  opened(worker: Worker, { info, changeset }: Parameters<Ports['workspaces']['open']>[0]): void {
    const claim = this.#monitor.turns.claimsOf.get(worker)
    if (!claim) return
    const ids = changeset?.commits.map(({ id }) => id) ?? []
    const made = this.#monitor.runs.commitsBefore(claim.runId, claim.turn)
    if (!this.#monitor.turns.forgotten.has(claim.runId) && !isDeepStrictEqual(ids, made))
      this.#monitor.violate(
        `turn ${claim.turn} of ${claim.runId} works on the commits ${ids.join(' ')}, finished turns made ${made.join(' ')}`,
      )
    this.#task(`${claim.runId} ${claim.turn} source`, info.pack)
  }

  called(worker: Worker, turn: AgentTurn, call: number): void {
    const { role, session, prompt, transcript, runId } = turn
    const not = (what: string): void => this.#monitor.violate(`${runId} ${role}: ${what} (call ${call} by ${worker.label})`)
    const claim = this.#monitor.turns.claimsOf.get(worker)
    if (claim?.runId !== runId || claim.role !== role || claim.turn !== turn.turn)
      return not('an agent was called for a turn that was not claimed')
    if (this.#world.now >= claim.deadline) not('an agent was called past the deadline')
    const { task } = prompt
    this.#task(
      `${runId} ${turn.turn} task`,
      JSON.stringify(
        task.kind === 'fix'
          ? [task.kind, task.findings.map(({ id }) => id), task.notes]
          : [task.kind, task.outstanding.map(({ id }) => id)],
      ),
    )
    const before = this.#calls.get(worker)
    const history = transcript.history()
    if (prompt.kind === 'repair') {
      if (before?.transcript !== transcript) not('a repair was asked for in another transcript')
      return
    }
    if (session.mode === 'resume') this.#monitor.saw(prompt.kind === 'continue' ? 'checkpoint continued' : 'session attached')
    const left = prompt.kind === 'continue' ? claim.item.checkpoint : claim.item.session
    const stored = session.mode !== 'resume' ? [] : left?.id === session.id ? this.#stored.get(left.transcript) : undefined
    if (!stored) not(`session ${session.mode === 'resume' ? session.id : ''} was attached, which no finished turn of the role left`)
    else if (!isDeepStrictEqual(history, stored)) not('a session was attached with a transcript that is not the one a finished turn stored')
    this.#calls.set(worker, { turn: turn.turn, transcript, found: history })
  }

  /** A session or a checkpoint that a finished turn stores: its object is there, is what it says, and is what this worker's call made. */
  kept(worker: Worker, { runId, role, fence, done }: TurnItem, kept: Kept, not: (what: string) => void): void {
    const bytes = this.#world.artifacts.objects.get(kept.transcript)
    if (!bytes) return not(`the transcript ${kept.transcript} is not there`)
    if (createHash('sha256').update(bytes).digest('hex') !== kept.checksum)
      return not(`the transcript ${kept.transcript} is not what was stored`)
    if (!kept.transcript.startsWith(`transcripts/${role}/${runId}/${done?.turn}`))
      not(`the transcript is kept as ${kept.transcript}, fence ${fence}`)
    const lines = Buffer.from(bytes)
      .toString()
      .split('\n')
      .slice(0, -1)
      .map((line): unknown => JSON.parse(line))
    const call = this.#calls.get(worker)
    if (call?.turn !== done?.turn || !isDeepStrictEqual(lines, call?.transcript.history()))
      not('the transcript is not that of the call which finished the turn')
    this.#stored.set(kept.transcript, lines)
  }

  #task(key: string, task: string): void {
    const first = this.#tasks.get(key)
    if (first !== undefined && first !== task && !this.#monitor.turns.forgotten.has(key.slice(0, 18)))
      this.#monitor.violate(`the same turn was given something else to do: ${key}: ${task}, before: ${first}`)
    if (first === undefined) this.#tasks.set(key, task)
  }
}
