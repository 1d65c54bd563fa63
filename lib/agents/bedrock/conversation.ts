/** The conversation that a transcript holds: what was shown, asked and reported, and what is left to do. */
import type { Transcript } from '../../loop/agent.ts'
import type { SkippedFile } from '../../loop/output.ts'
import type { Shown } from '../../loop/prompts/plan.ts'
import type { BedrockEntry, TurnEntry } from './entries.ts'

export class Conversation {
  readonly entries: BedrockEntry[]
  readonly #transcript: Transcript

  constructor(transcript: Transcript, entries: readonly BedrockEntry[]) {
    this.#transcript = transcript
    this.entries = [...entries]
  }

  /** Into the transcript at once: a reply before its tools run, their results before the next call. */
  append(entry: BedrockEntry): void {
    this.#transcript.append(entry)
    this.entries.push(entry)
  }

  /** Begins a turn, or a repair, with its first part. */
  begin(entry: Omit<TurnEntry, 'type'>): void {
    this.append({ type: 'turn', ...entry })
    this.append({ type: 'ask', part: 0 })
  }

  /** Why it cannot be gone on with; null where it can. Only what stands between two calls of the model is a place to go on from. */
  get objection(): string | null {
    let asking: TurnEntry | null = null
    for (const [index, entry] of this.entries.entries()) {
      if (entry.type === 'turn') asking = entry
      else if (asking === null) return 'the transcript does not begin with a turn'
      if (entry.type === 'ask' && !asking?.parts[entry.part]) return 'the transcript asks for a part that is not there'
      if (entry.type !== 'reply') continue
      const calls = entry.content.flatMap((block) => ('toolUse' in block ? [block.toolUse.id] : []))
      const answer = this.entries.slice(index + 1).find(({ type }) => type !== 'report')
      const answered = answer?.type === 'results' ? answer.results.map(({ id }) => id) : []
      if (calls.join('\n') !== answered.join('\n')) return 'a reply and the results of its tools do not belong together'
    }
    return asking === null ? 'the transcript holds no turn' : null
  }

  /** Hash of each file's change that was shown so far. */
  get shown(): Shown {
    const shown = new Map<string, string>()
    let asking: TurnEntry | null = null
    for (const entry of this.entries) {
      if (entry.type === 'turn') asking = entry
      if (entry.type === 'ask') for (const [path, hash] of Object.entries(asking?.parts[entry.part]?.shown ?? {})) shown.set(path, hash)
    }
    return Object.fromEntries(shown)
  }

  /** The turn entry that the conversation is at, and what came after it. */
  get current(): { entry: TurnEntry; after: BedrockEntry[] } {
    const at = this.entries.findLastIndex(({ type }) => type === 'turn')
    const entry = this.entries[at]
    if (entry?.type !== 'turn') throw new Error('the conversation has not begun')
    return { entry, after: this.entries.slice(at + 1) }
  }

  /** The part that is being answered. */
  get part(): number {
    return this.current.after.findLast((entry) => entry.type === 'ask')?.part ?? 0
  }

  get hadMishap(): boolean {
    return this.current.after.some((entry) => entry.type === 'note' && entry.mishap)
  }

  /** Tokens that the conversation has grown to. */
  get context(): number {
    return this.entries.findLast((entry) => entry.type === 'reply')?.context ?? 0
  }

  /** What was reported for each part that was asked: the latest. An answer to a repair stands for all. */
  get reports(): unknown[] {
    const { entry, after } = this.current
    const byPart = new Map(after.flatMap((one) => (one.type === 'report' ? [[one.part, one.output] as const] : [])))
    return entry.kind === 'repair' ? [...byPart.values()].slice(-1) : [...byPart].toSorted(([a], [b]) => a - b).map(([, output]) => output)
  }

  /** What the task's own prompt left out, and what it would have shown in parts that were never given. */
  get unread(): SkippedFile[] {
    const at = this.entries.findLastIndex((entry) => entry.type === 'turn' && entry.kind === 'task')
    const entry = this.entries[at]
    if (entry?.type !== 'turn') return []
    const next = this.entries.findIndex((other, index) => index > at && other.type === 'turn')
    const given = this.entries.slice(at, next < 0 ? undefined : next).flatMap((one) => (one.type === 'ask' ? [one.part] : []))
    const never = entry.parts.flatMap(({ shown }, part) => (given.includes(part) ? [] : Object.keys(shown)))
    return [...entry.skipped, ...never.map((file) => ({ file, reason: 'the turn ended before it was shown' }))]
  }
}
