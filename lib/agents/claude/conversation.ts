/** The conversation that a transcript holds, as a store for the SDK: it reads what was there and adds what it writes, line by line. */
import type { Transcript } from '../../loop/agent.ts'
import type { SkippedFile } from '../../loop/output.ts'
import type { Shown } from '../../loop/prompts/plan.ts'
import type { ClaudeEntry, Line, Stop, TurnEntry } from './entries.ts'
import type { SessionStore } from './sdk.ts'

const holds = (line: Line, toolUseId: string): boolean => line.type === 'assistant' && JSON.stringify(line).includes(toolUseId)

export class Conversation {
  readonly #transcript: Transcript
  readonly #entries: ClaudeEntry[]
  /** Lines that stood there before this call. */
  readonly before: readonly Line[]
  readonly #watched = new Map<string, () => void>()

  constructor(transcript: Transcript, entries: readonly ClaudeEntry[]) {
    this.#transcript = transcript
    this.#entries = [...entries]
    this.before = entries.flatMap((entry) => (entry.type === 'line' ? [entry.line] : []))
  }

  #append(entry: ClaudeEntry): void {
    this.#transcript.append(entry)
    this.#entries.push(entry)
  }

  begin(entry: Omit<TurnEntry, 'type'>): void {
    this.#append({ type: 'turn', ...entry })
  }

  stop(how: Stop): void {
    this.#append({ type: 'stop', how })
  }

  /** Where the turn stopped; null where it did not. */
  get stopped(): Stop | null {
    const last = this.#entries.at(-1)
    return last?.type === 'stop' ? last.how : null
  }

  /** Resolves once the answer that holds this call of a tool stands here: the SDK writes it down a little later than it acts on it. */
  answered(toolUseId: string): Promise<void> {
    if (this.#entries.some((entry) => entry.type === 'line' && holds(entry.line, toolUseId))) return Promise.resolve()
    return new Promise((resolve) => this.#watched.set(toolUseId, resolve))
  }

  /** Hash of each file's change that was shown so far. */
  get shown(): Shown {
    return Object.assign({}, ...this.#entries.flatMap((entry) => (entry.type === 'turn' ? [entry.shown] : []))) as Shown
  }

  /** What the task's own prompt left out. */
  get unread(): readonly SkippedFile[] {
    const task = this.#entries.findLast((entry) => entry.type === 'turn' && entry.kind === 'task')
    return task?.type === 'turn' ? task.skipped : []
  }

  /** `see` is told of each line. Helpers' transcripts are not kept: there are no helpers. */
  store(see: (line: Line) => void): SessionStore {
    const known = new Set(this.before.map(({ uuid }) => uuid))
    return {
      load: async ({ subpath }) => (subpath === undefined && this.before.length > 0 ? [...this.before] : null),
      append: async ({ subpath }, lines) => {
        if (subpath !== undefined) return
        for (const line of lines) {
          // It may write a line twice where it was not sure of the first.
          if (line.uuid !== undefined && known.has(line.uuid)) continue
          known.add(line.uuid)
          this.#append({ type: 'line', line })
          see(line)
          for (const [id, resolve] of this.#watched) if (holds(line, id)) resolve()
        }
      },
    }
  }
}
