/** The time of a turn: how much is left for a call, and whether anything was done with what is gone. */

/** Kept between the last of the work and the deadline, to answer and store in. */
const ANSWER_MS = 5000

export class Pace {
  readonly #end: number
  readonly #shortest: number
  readonly #now: () => number
  #calls = 0

  /** `callMs`: what a call may need; with less than that left none is begun. At most a quarter of the time there is. */
  constructor(deadline: number, callMs: number, now: () => number) {
    const all = deadline - now()
    this.#end = deadline - Math.min(ANSWER_MS, Math.max(0, all / 10))
    this.#shortest = Math.min(callMs, Math.max(0, all / 4))
    this.#now = now
  }

  didCall(): void {
    this.#calls += 1
  }

  get progressed(): boolean {
    return this.#calls > 0
  }

  /** ms that a call may take. */
  get left(): number {
    return this.#end - this.#now()
  }

  get isShort(): boolean {
    return this.left <= 0 || this.left < this.#shortest
  }
}
