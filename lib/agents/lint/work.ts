/** What one turn of the lint agent works with. */
import type { AgentTurn } from '../../loop/agent.ts'
import type { LintEntry } from './entries.ts'
import type { Kind } from './kinds.ts'
import type { Linted } from './linters.ts'

export interface Work {
  turn: AgentTurn
  /** What the session remembered when the turn began. */
  entries: readonly LintEntry[]
  lint: (kind: Kind, text: string) => Promise<Linted>
  pace: Pace
}

/** When a turn stops at a checkpoint. Something has to be done in each, or the turn that continues it would get no further. */
export class Pace {
  readonly #until: number
  readonly #now: () => number
  #files = 0

  /** `margin` is how long before the deadline to stop, in ms; at most a quarter of the time there is. */
  constructor(deadline: number, margin: number, now: () => number) {
    this.#until = deadline - Math.min(margin, (deadline - now()) / 4)
    this.#now = now
  }

  /** A file is done with, and its results are in the transcript. */
  didFile(): void {
    this.#files += 1
  }

  get progressed(): boolean {
    return this.#files > 0
  }

  /** Whether to stop before the next file. */
  get due(): boolean {
    return this.progressed && this.#now() >= this.#until
  }
}

/** `checkpoint`: the rest is for a turn that continues this one. */
export type Worked = { kind: 'done'; output: unknown } | { kind: 'checkpoint' }
