/** Watches what really happened at the edge of the world, and notes what must not. */
import { createHash } from 'node:crypto'
import type { Happening } from '../../../lib/loop/happening.ts'
import type { AgentTurn } from '../../../lib/loop/agent.ts'
import type { BranchItem, RunItem, TurnItem } from '../../../lib/loop/items.ts'
import type { RunState } from '../../../lib/loop/run.ts'
import { Secrets } from './secrets.ts'

/** The result of a turn without what tells only which execution asked for it. */
const resultOf = ({ state, record }: NonNullable<TurnItem['done']>): string => {
  const { epoch: _epoch, ...rest } = state
  return JSON.stringify({ state: rest, record })
}

export class Monitor {
  readonly secrets = new Secrets()
  readonly violations: string[] = []
  readonly trace: string[] = []
  /** Errors that what was done to the run explains. */
  readonly excuses = new Set<string>()
  /** Everything that could be read by people or by other programs, and who may: null is anybody. */
  readonly texts: { where: string; text: string }[] = []
  readonly ended = new Map<string, RunItem>()
  readonly published: { runId: string; target: string; commit: string; afterEnd: boolean }[] = []
  /** Rules that certifiers found broken at a commit so that it blocks. */
  readonly certified: { runId: string; commit: string; blocking: string[] }[] = []
  /** Objects that came after the end of their run: only a late worker writes such. */
  readonly late = new Set<string>()
  readonly counts = { effects: 0, faults: 0, kills: 0, late: 0, leftovers: 0, turns: 0, agentCalls: 0, wire: 0 }
  readonly #told = new Set<string>()
  readonly #turns = new Map<string, string>()
  readonly #buried = new Set<string>()
  readonly #fences = new Map<string, number>()
  readonly #epochs = new Map<string, number>()
  readonly #decisions = new Map<string, string>()
  readonly #objects = new Map<string, string>()

  violation(text: string): void {
    this.violations.push(text)
    this.trace.push(`VIOLATION: ${text}`)
  }

  note(text: string): void {
    this.trace.push(text)
  }

  /** Each turn and each end is counted once, whoever comes late and whatever is tried again. */
  told(what: Happening): void {
    if (what.kind !== 'turn' && what.kind !== 'ended') return
    const once = what.kind === 'turn' ? `turn ${what.record.turn} of ${what.runId}` : `the end of ${what.runId}`
    if (this.#told.has(once)) this.violation(`${once} was counted twice`)
    this.#told.add(once)
  }

  read(where: string, text: string): void {
    this.texts.push({ where, text })
  }

  turnItemWritten(item: TurnItem): void {
    const at = `${item.runId}#${item.role}`
    const fence = this.#fences.get(at) ?? 0
    if (item.fence < fence) this.violation(`the fence of ${at} went back from ${fence} to ${item.fence}`)
    this.#fences.set(at, Math.max(fence, item.fence))
    if (this.#buried.has(at)) this.violation(`the tombstone ${at} was written again`)
    if (item.closed) this.#buried.add(at)
    if (!item.done) return
    const turn = `turn ${item.done.turn} of ${item.runId}`
    const result = resultOf(item.done)
    const before = this.#turns.get(turn)
    if (before === undefined) this.counts.turns++
    else if (before !== result) this.violation(`the result of ${turn} changed`)
    this.#turns.set(turn, result)
  }

  recorded(runId: string, turn: number): RunState | null {
    const text = this.#turns.get(`turn ${turn} of ${runId}`)
    return text === undefined ? null : (JSON.parse(text) as { state: RunState }).state
  }

  runItemWritten(item: RunItem): void {
    const { runId, epoch, decision, status } = item
    if (epoch < (this.#epochs.get(runId) ?? 0)) this.violation(`the epoch of ${runId} went back to ${epoch}`)
    this.#epochs.set(runId, epoch)
    if (decision) {
      const at = `${runId} ${decision.question}`
      const before = this.#decisions.get(at)
      if (before !== undefined && before !== JSON.stringify(decision)) this.violation(`the decision of ${at} changed`)
      this.#decisions.set(at, JSON.stringify(decision))
    }
    const end = this.ended.get(runId)
    if (end && (status !== 'ended' || JSON.stringify(end.verdict) !== JSON.stringify(item.verdict)))
      this.violation(`run ${runId} had ended as ${end.verdict?.outcome} and became ${status} ${item.verdict?.outcome}`)
    if (status === 'ended' && !end) this.ended.set(runId, item)
  }

  branchItemWritten(item: BranchItem): void {
    this.note(`  branch ${item.key.slice(-6)}: ${item.active ?? 'free'}`)
  }

  objectWritten(key: string, bytes: Uint8Array, runId: string | null): void {
    const digest = createHash('sha256').update(bytes).digest('hex')
    const before = this.#objects.get(key)
    if (before !== undefined && before !== digest) this.violation(`the object ${key} changed`)
    this.#objects.set(key, digest)
    if (runId !== null && this.ended.has(runId)) this.late.add(key)
  }

  pushed(runId: string, target: string, commit: string, item: RunItem | null): void {
    if (item?.publishing?.commit !== commit || item.publishing.ref !== target)
      this.violation(`${commit} was pushed to ${target}, and recorded for pushing is ${JSON.stringify(item?.publishing)}`)
    if (this.published.some((other) => other.runId === runId)) this.violation(`run ${runId} published twice`)
    this.published.push({ runId, target, commit, afterEnd: this.ended.has(runId) })
  }

  /** What an agent is given: nothing of another role or run, and of its own conversation only finished turns. */
  agentCalled({ role, runId, turn, session, transcript, prompt, budget }: AgentTurn): void {
    this.counts.agentCalls++
    const owner = { role, runId }
    const who = `the ${role} of ${runId} in turn ${turn}`
    if (session.mode !== 'none' && session.id !== null) {
      const other = this.secrets.session(session.id, owner)
      if (other) this.violation(`${who} was given the session of the ${other.role} of ${other.runId}`)
      if (role === 'certifier' && prompt.kind === 'task') this.violation(`${who} was given a session`)
    }
    for (const leak of this.secrets.leaked(JSON.stringify({ prompt, budget }), null)) this.violation(`the prompt of ${who} holds ${leak}`)
    const history = JSON.stringify(transcript.history())
    for (const leak of this.secrets.leaked(history, owner)) this.violation(`the transcript of ${who} holds ${leak}`)
    if (prompt.kind === 'repair') return
    for (const { turn: said } of this.secrets.canariesIn(history))
      if (said >= turn) this.violation(`the transcript of ${who} holds what was said in turn ${said}, which had not finished`)
  }
}
