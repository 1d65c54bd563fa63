/** The embedded engine: the synthesized state machine and the very handlers of the Lambdas, in this process. */
import { randomUUID } from 'node:crypto'
import type { StateMachine } from 'aws-local-stepfunctions'
import type { TaskState } from '../names.ts'
import type { Executions, Invocation } from '../loop/ports.ts'
import { redact } from '../loop/redact.ts'
import type { RunState } from '../loop/run.ts'
import { causeText, translator, type EngineEvent } from './engine-events.ts'
import { Execution, Halted, haltedBy, type ExecutionEnd, type Handler } from './execution.ts'
import { interpreter, LOOP_MACHINE, statesOf } from './machine.ts'

export interface EngineOptions {
  /** Gives a state's handler when the state is entered. */
  handler: (state: TaskState) => Handler
  /** True: Park waits in this process for `wake`. False: once the question is stored the execution ends as `parked`. */
  waits: boolean
  onEvent?: (event: EngineEvent) => void
  /** Milliseconds between retries, in place of those of the definition: for tests. */
  retryInterval?: number
  /**
   * Says whether a name was used before, by any process, and uses it up. Without it only this engine's own names count. The name of
   * an execution is written down before it starts: one that was lost goes on by a new epoch, under a new name.
   */
  claimName?: (name: string) => Promise<boolean>
  /** Told of every execution that failed, as in AWS a rule of EventBridge does: some end where no Catch can see. */
  onFailed?: (end: { name: string; error: string; cause: string }) => Promise<void>
}

/** A Lambda runs 15 minutes at most; the margin is what a turn needs to store its results. */
const LAMBDA_SECONDS = 15 * 60
const MARGIN_MS = 20_000

const payloadOf = (input: unknown): { token?: unknown } =>
  input !== null && typeof input === 'object' && 'Payload' in input ? (input.Payload as { token?: unknown }) : (input as object)

export class Engine implements Executions {
  readonly #options: EngineOptions
  readonly #machine: StateMachine
  readonly #executions = new Map<string, Execution>()
  readonly #tokens = new Map<string, () => void>()

  constructor(options: EngineOptions) {
    this.#options = options
    this.#machine = interpreter(LOOP_MACHINE)
  }

  /** Starts an execution; a name that was used starts nothing. */
  async start(name: string, input: RunState): Promise<void> {
    if (this.#executions.has(name)) return
    const execution = new Execution(name)
    this.#executions.set(name, execution)
    if (this.#options.claimName && !(await this.#options.claimName(name))) {
      this.#executions.delete(name)
      return
    }
    execution.end = this.#run(execution, input).then(async (end) => {
      if (end.kind === 'failed') await this.#options.onFailed?.({ name, error: end.error, cause: end.cause })
      return end
    })
    // Whoever waits for it learns that it could not be recorded; where nobody does, that must not end the process.
    execution.end.catch(() => {})
  }

  async stop(name: string): Promise<void> {
    this.#executions.get(name)?.stop('stopped')
  }

  /** Ends an execution that waits in Park as `parked`: the question stands, and this process may end. */
  leave(name: string): void {
    this.#executions.get(name)?.stop('parked')
  }

  async wake(token: string): Promise<void> {
    this.#tokens.get(token)?.()
  }

  /** How the execution ended; null for a name that was not started here. */
  async waitFor(name: string): Promise<ExecutionEnd | null> {
    return (await this.#executions.get(name)?.end) ?? null
  }

  /** Names of the executions that were started here, oldest first. */
  names(): string[] {
    return [...this.#executions.keys()]
  }

  /** Stops everything and waits for the handlers to notice, so that leases are given back and children are gone. */
  async interrupt(graceMs = 10_000): Promise<void> {
    const all = [...this.#executions.values()]
    for (const execution of all) execution.stop('stopped')
    await Promise.allSettled(all.map((execution) => execution.end))
    await Promise.all(all.map((execution) => execution.settled(graceMs)))
  }

  async #run(execution: Execution, input: RunState): Promise<ExecutionEnd> {
    const states = Object.entries(statesOf(LOOP_MACHINE)).filter(([, state]) => state.Type === 'Task')
    const interval = this.#options.retryInterval
    const run = this.#machine.run(input, {
      noThrowOnAbort: true,
      // the interpreter copies the outer object, so the getter sits one level down: every Park gets a token of its own
      context: {
        Execution: { Name: execution.name },
        Task: {
          get Token() {
            return randomUUID()
          },
        },
      },
      overrides: {
        taskResourceLocalHandlers: Object.fromEntries(
          states.map(([name]) => [name, ((event: unknown) => this.#enter(execution, name as TaskState, event)) as never]),
        ),
        ...(interval === undefined ? {} : { retryIntervalOverrides: Object.fromEntries(states.map(([name]) => [name, interval])) }),
      },
    })
    execution.signal.addEventListener('abort', run.abort, { once: true })
    const told = this.#tell(execution.name, run.eventLogs)
    try {
      await run.result
      return { kind: execution.reason ?? 'succeeded' }
    } catch (error) {
      if (execution.reason) return { kind: execution.reason }
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
      return {
        kind: 'failed',
        error: cause instanceof Error ? cause.name : 'Unexpected',
        cause: causeText(cause instanceof Error ? cause.message : ''),
      }
    } finally {
      await told
    }
  }

  async #enter(execution: Execution, state: TaskState, input: unknown): Promise<unknown> {
    const seconds = Math.min(statesOf(LOOP_MACHINE)[state]?.TimeoutSeconds ?? LAMBDA_SECONDS, LAMBDA_SECONDS)
    const invocation: Invocation = {
      deadline: Date.now() + Math.max(seconds * 1000 - MARGIN_MS, seconds * 500),
      signal: AbortSignal.any([execution.signal, AbortSignal.timeout(seconds * 1000)]),
      progress: (message) =>
        this.#options.onEvent?.({ kind: 'progress', execution: execution.name, at: Date.now(), state, message: redact(message) }),
    }
    const handler = this.#options.handler(state)
    if (state === 'Park') return this.#park(execution, handler, payloadOf(input), invocation)
    return execution.task(handler, payloadOf(input), invocation)
  }

  async #park(execution: Execution, handler: Handler, payload: { token?: unknown }, invocation: Invocation): Promise<unknown> {
    const token = String(payload.token)
    const { promise, resolve } = Promise.withResolvers<void>()
    let woken = false
    this.#tokens.set(token, () => {
      woken = true
      resolve()
    })
    const { halted, release } = haltedBy(execution.signal)
    try {
      await execution.task(handler, payload, invocation)
      if (!woken && !this.#options.waits) {
        execution.stop('parked')
        throw new Halted()
      }
      await Promise.race([promise, halted])
      return {}
    } finally {
      release()
      this.#tokens.delete(token)
    }
  }

  async #tell(execution: string, logs: AsyncGenerator<unknown>): Promise<void> {
    const translate = translator(execution)
    for await (const log of logs) {
      const event = translate(log as Parameters<typeof translate>[0])
      if (event) this.#options.onEvent?.(event)
    }
  }
}
