/** The course of a session, from its transcript: what was shown, asked and answered, and what is left to do. */
import type { SkippedFile } from '../../loop/output.ts'
import type { Shown } from '../../loop/prompts/plan.ts'
import type { AcpEntry, FileEntry, TurnEntry } from './entries.ts'

type OfType<T extends AcpEntry['type']> = Extract<AcpEntry, { type: T }>

export class Course {
  readonly #entries: AcpEntry[]

  constructor(entries: readonly AcpEntry[]) {
    this.#entries = [...entries]
  }

  get entries(): readonly AcpEntry[] {
    return this.#entries
  }

  add(entry: AcpEntry): void {
    this.#entries.push(entry)
  }

  #last<T extends AcpEntry['type']>(type: T): OfType<T> | undefined {
    return this.#entries.findLast((entry): entry is OfType<T> => entry.type === type)
  }

  get place(): string | null {
    return this.#last('place')?.place ?? null
  }

  get files(): FileEntry[] {
    return this.#entries.filter((entry) => entry.type === 'file')
  }

  get size(): { context: number | null; dollars: number | null } {
    return this.#last('size') ?? { context: null, dollars: null }
  }

  get hasBegun(): boolean {
    return this.#last('turn') !== undefined
  }

  /** The latest turn entry, and what came after it. */
  get current(): { entry: TurnEntry; after: AcpEntry[] } {
    const at = this.#entries.findLastIndex(({ type }) => type === 'turn')
    const entry = this.#entries[at]
    if (entry?.type !== 'turn') throw new Error('the session has not begun')
    return { entry, after: this.#entries.slice(at + 1) }
  }

  /** The part that was given and not answered; null where the next is to be given. */
  get pending(): number | null {
    const { after } = this.current
    const asked = after.findLast((entry) => entry.type === 'ask')?.part
    return asked === undefined || after.some((entry) => entry.type === 'report' && entry.part === asked) ? null : asked
  }

  /** The part to give next; as many as there are where all were. */
  get next(): number {
    return (this.current.after.findLast((entry) => entry.type === 'ask')?.part ?? -1) + 1
  }

  /** Hash of each file's change that was shown so far. */
  get shown(): Shown {
    const shown = new Map<string, string>()
    let asking: TurnEntry | null = null
    for (const entry of this.#entries) {
      if (entry.type === 'turn') asking = entry
      if (entry.type === 'ask') for (const [path, hash] of Object.entries(asking?.parts[entry.part]?.shown ?? {})) shown.set(path, hash)
    }
    return Object.fromEntries(shown)
  }

  /** What was answered to each part. An answer to a repair stands for all. */
  get reports(): unknown[] {
    return this.current.after.flatMap((entry) => (entry.type === 'report' ? [entry.output] : []))
  }

  /** What the task's own prompt left out, and what stands in parts that were never given. */
  get unread(): SkippedFile[] {
    const at = this.#entries.findLastIndex((entry) => entry.type === 'turn' && entry.kind === 'task')
    const entry = this.#entries[at]
    if (entry?.type !== 'turn') return []
    const next = this.#entries.findIndex((other, index) => index > at && other.type === 'turn')
    const given = this.#entries.slice(at, next < 0 ? undefined : next).flatMap((one) => (one.type === 'ask' ? [one.part] : []))
    const never = entry.parts.flatMap(({ shown }, part) => (given.includes(part) ? [] : Object.keys(shown)))
    return [...entry.skipped, ...never.map((file) => ({ file, reason: 'the turn ended before it was shown' }))]
  }

  /** The entries that the next turn needs: the messages themselves are in the agent's own files. */
  kept(files: readonly FileEntry[]): AcpEntry[] {
    return [...this.#entries.filter(({ type }) => type !== 'file'), ...files]
  }
}
