/**
 * The scheduler: every effect of every worker is a point at which it stops until it is chosen. What is chosen may happen, fail
 * before or after it took effect, land later, or take its worker with it. Nothing here knows what the workers do.
 */
import type { Random } from './random.ts'
import { type Effect, type Outcome, type Point, Worker } from './worker.ts'

export interface Timer {
  at: number
  what: string
  fire: () => void
}

/** Lets everything run that waits for nothing but the chosen effect. */
const settle = (): Promise<void> =>
  new Promise((resolve) => {
    setImmediate(resolve)
  })

export class Scheduler {
  now: number
  step = 0
  readonly trace: string[] = []
  readonly timers: Timer[] = []
  /** Requests under way of which no answer is waited for any more. */
  readonly inFlight: { what: string; perform: () => unknown }[] = []
  readonly #random: Random
  #workers: Worker[] = []
  #count = 0

  constructor(random: Random, now: number) {
    this.#random = random
    this.now = now
  }

  note(text: string): void {
    this.trace.push(`${this.step} ${text}`)
  }

  /** Workers that stand at a point. */
  ready(): Worker[] {
    return this.#workers.filter((worker) => worker.points.length > 0)
  }

  get workers(): readonly Worker[] {
    return this.#workers
  }

  /** Starts a worker. `onEnd` is told how its work ended, unless it crashed. */
  spawn<T>(
    what: string,
    skew: number,
    body: (worker: Worker) => Promise<T>,
    onEnd: (end: { value: T } | { error: unknown }) => void,
  ): Worker {
    const worker = new Worker(++this.#count, what, skew)
    this.#workers.push(worker)
    this.note(`${worker.label} starts`)
    const ended = (end: { value: T } | { error: unknown }): void => {
      if (worker.dead) return
      worker.done = true
      this.#workers = this.#workers.filter((other) => other !== worker)
      this.note(`${worker.label} ends${'error' in end ? `: ${String(end.error)}` : ''}`)
      onEnd(end)
    }
    body(worker).then(
      (value) => ended({ value }),
      (error: unknown) => ended({ error }),
    )
    return worker
  }

  effect<T>(worker: Worker, effect: Omit<Effect, 'perform'> & { perform: () => T | Promise<T> }): Promise<T> {
    // What a dead worker asks for is never answered.
    if (worker.dead) return new Promise(() => undefined)
    return new Promise<T>((resolve, reject) => {
      worker.points.push({ ...effect, resolve: resolve as (value: unknown) => void, reject, resent: false })
    })
  }

  at(delay: number, what: string, fire: () => void): Timer {
    const timer = { at: this.now + Math.max(0, Math.round(delay)), what, fire }
    this.timers.push(timer)
    return timer
  }

  cancel(timer: Timer | null): void {
    const index = timer ? this.timers.indexOf(timer) : -1
    if (index >= 0) this.timers.splice(index, 1)
  }

  nextTimer(): Timer | null {
    let next: Timer | null = null
    for (const timer of this.timers) if (!next || timer.at < next.at) next = timer
    return next
  }

  async fire(timer: Timer): Promise<void> {
    this.step++
    this.cancel(timer)
    this.now = Math.max(this.now, timer.at)
    this.note(`time: ${timer.what}`)
    timer.fire()
    await settle()
  }

  /** The worker is gone. Requests it had under way land later, or never. */
  kill(worker: Worker, keep = 0.3): void {
    if (worker.dead || worker.done) return
    worker.dead = true
    this.#workers = this.#workers.filter((other) => other !== worker)
    for (const point of worker.points.splice(0)) if (point.writes && this.#random.chance(keep)) this.inFlight.push(point)
    this.note(`${worker.label} is gone`)
    worker.onDeath()
  }

  /** Starts nothing: gives what was started the time to stand at its first point. */
  settle(): Promise<void> {
    return settle()
  }

  async land(index: number): Promise<void> {
    this.step++
    const [request] = this.inFlight.splice(index, 1)
    if (!request) return
    this.note(`lands late: ${request.what}`)
    await this.#perform(request)
    await settle()
  }

  async choose(worker: Worker, index: number, outcome: Outcome): Promise<void> {
    this.step++
    const point = worker.points[index]
    if (!point) return
    this.note(`${worker.label}: ${point.what}${outcome === 'go' ? '' : ` [${outcome}]`}`)
    if (outcome === 'resend') {
      point.resent = true
      await this.#perform(point)
      return settle()
    }
    worker.points.splice(index, 1)
    if (outcome === 'go') await this.#answer(point)
    else {
      if (outcome.endsWith('-after')) await this.#perform(point)
      if (outcome.endsWith('-late') && point.writes) this.inFlight.push(point)
      if (outcome.startsWith('crash')) this.kill(worker)
      else point.reject(point.lost())
    }
    await settle()
  }

  async #answer(point: Point): Promise<void> {
    try {
      point.resolve(await point.perform())
    } catch (error) {
      point.reject(error)
    }
  }

  /** As the caller would have it, but nobody hears how it went. */
  async #perform(point: Pick<Effect, 'perform'>): Promise<void> {
    try {
      await point.perform()
    } catch {
      // Nobody waits for it.
    }
  }
}
