/** The workers of the present process: who of them was given up, and when those go on. */
import { LoopError } from '../../../lib/loop/errors.ts'
import type { Life, Worker } from './effect.ts'

export class Staff {
  readonly #note: (text: string) => void
  readonly #frozen = new Set<Worker>()
  readonly #working = new Map<Worker, Promise<unknown>>()

  constructor(note: (text: string) => void) {
    this.#note = note
  }

  /** Another process begins. */
  clear(): void {
    this.#working.clear()
    this.#frozen.clear()
  }

  works(worker: Worker, work: Promise<unknown>): void {
    const over = () => void this.#working.delete(worker)
    this.#working.set(worker, work)
    work.then(over, over)
  }

  /** How many go on at the same time. */
  get busy(): number {
    return [...this.#working.keys()].filter((worker) => !this.#frozen.has(worker)).length
  }

  /** The engine is told that the worker ran out of time; the worker itself goes on when it is let. */
  async giveUp(worker: Worker, thawsAt: number): Promise<void> {
    worker.frozen = Promise.withResolvers()
    worker.thawsAt = thawsAt
    this.#frozen.add(worker)
    worker.givenUp.reject(new LoopError('AgentTimedOut', `${worker.name} did not answer`))
    await worker.frozen.promise
  }

  /** Those whose time has come go on; by default all. */
  thaw(at = Infinity): void {
    for (const worker of this.#frozen) {
      if (worker.thawsAt > at) continue
      this.#frozen.delete(worker)
      this.#note(`  ${worker.name} goes on late`)
      worker.frozen?.resolve()
    }
  }

  /** Lets those that were given up come to their end, unless the process is killed over it. */
  async letLateOnesEnd(life: Life): Promise<void> {
    this.thaw()
    await Promise.race([life.died.promise, Promise.allSettled(this.#working.values())])
  }
}
