/** A worker: somebody who stops at every effect until it is chosen, and what may become of the effect then. */

/** How a chosen effect goes. */
export const OUTCOMES = [
  'go',
  /** The caller gets an error; nothing happened, it happened, or it happens later. */
  'lost-before',
  'lost-after',
  'lost-late',
  /** It took effect, the answer was lost, and the client sends the same request again. */
  'resend',
  /** The worker is gone; nothing happened, it happened, or it happens later. */
  'crash-before',
  'crash-after',
  'crash-late',
] as const
export type Outcome = (typeof OUTCOMES)[number]

export interface Effect {
  what: string
  /** Whether it can take effect though nobody hears of it. */
  writes: boolean
  perform: () => unknown
  /** What the caller is told when no answer came. */
  lost: () => Error
}

export interface Point extends Effect {
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
  resent: boolean
}

export class Worker {
  readonly id: number
  readonly what: string
  /** What its clock is ahead of the true one, ms. */
  readonly skew: number
  readonly points: Point[] = []
  readonly controller = new AbortController()
  dead = false
  done = false
  /** Step before which it does not go on. */
  stalledUntil = 0
  /** Called when it crashes. */
  onDeath: () => void = () => undefined

  constructor(id: number, what: string, skew: number) {
    this.id = id
    this.what = what
    this.skew = skew
  }

  get label(): string {
    return `w${this.id} ${this.what}`
  }
}
