/** One execution of the state machine in this process: its tasks, what stops it, and how it ended. */
import { setTimeout as sleep } from 'node:timers/promises'
import { asLoopError } from '../loop/errors.ts'
import type { Invocation } from '../loop/ports.ts'
import { redactError } from '../loop/redact.ts'

export type Handler = (event: unknown, invocation: Invocation) => Promise<unknown>

export type ExecutionEnd =
  | { kind: 'succeeded' }
  | { kind: 'failed'; error: string; cause: string }
  /** Park has stored its question and nobody waits here: the execution was ended so that the process may. */
  | { kind: 'parked' }
  | { kind: 'stopped' }

/**
 * What a task throws once its execution is stopped, whatever its handler throws: no Retry names it, so that a stopped execution does not
 * enter its state again, and after a stop the interpreter follows no Catch.
 */
export class Halted extends Error {
  override readonly name = 'Halted'
}

/** As Lambda hands it over: the error's name for Retry and Catch, and a JSON string, which becomes the cause in the state. */
const asTaskError = (thrown: unknown): Error => {
  const error = redactError(asLoopError(thrown))
  const task = new Error(JSON.stringify({ errorType: error.name, errorMessage: error.message }))
  task.name = error.name
  return task
}

/** Only what JSON can carry passes between states. */
const asJson = (value: unknown): unknown => (value === undefined ? null : JSON.parse(JSON.stringify(value)))

/** A promise that rejects with `Halted` when the signal fires; it leaves no listener behind once `release` was called. */
export const haltedBy = (signal: AbortSignal): { halted: Promise<never>; release: () => void } => {
  const { promise, reject } = Promise.withResolvers<never>()
  const onAbort = () => reject(new Halted())
  promise.catch(() => {})
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  return { halted: promise, release: () => signal.removeEventListener('abort', onAbort) }
}

export class Execution {
  readonly name: string
  readonly #controller = new AbortController()
  readonly #tasks = new Set<Promise<unknown>>()
  /** Set before the signal fires, so that the end says why. */
  reason: 'parked' | 'stopped' | null = null
  end: Promise<ExecutionEnd> = Promise.resolve({ kind: 'stopped' })

  constructor(name: string) {
    this.name = name
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  stop(reason: 'parked' | 'stopped'): void {
    this.reason ??= reason
    this.#controller.abort(new Halted(`execution ${this.name} was ${reason}`))
  }

  /** Runs a handler to its end or to the execution's, whichever comes first. The handler itself may run on: `settled` waits for it. */
  async task(handler: Handler, event: unknown, invocation: Invocation): Promise<unknown> {
    if (this.signal.aborted) throw new Halted()
    const work = (async () => asJson(await handler(asJson(event), invocation)))()
    const tracked = work.catch(() => {})
    this.#tasks.add(tracked)
    void tracked.then(() => this.#tasks.delete(tracked))
    const { halted, release } = haltedBy(this.signal)
    try {
      return await Promise.race([work, halted])
    } catch (error) {
      throw error instanceof Halted || this.signal.aborted ? new Halted() : asTaskError(error)
    } finally {
      release()
    }
  }

  /** Waits until no handler of this execution runs any more, at most so many milliseconds. */
  async settled(ms: number): Promise<void> {
    const controller = new AbortController()
    await Promise.race([Promise.all(this.#tasks), sleep(ms, undefined, { signal: controller.signal }).catch(() => {})])
    controller.abort()
  }
}
