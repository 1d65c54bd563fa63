/**
 * A stepping model of the state machine's service over the machine's own definition: Choice, Task with time-out, Retry and Catch, a
 * task that waits for its token. Names start one execution each; an execution that ends badly is told of, at least once.
 */
import type { Executions as ExecutionsPort } from '../../../lib/loop/ports.ts'
import type { RunState } from '../../../lib/loop/run.ts'
import type { TaskState } from '../../../lib/names.ts'
import type { Worker } from './worker.ts'
import { Execution } from './execution.ts'
import type { World } from './world.ts'

/** Seconds that the functions may run. */
const LAMBDA_SECONDS: Partial<Record<TaskState, number>> = { Prepare: 900, Review: 900, Fix: 900, Certify: 900, Publish: 600, Close: 300 }
const SMALL_SECONDS = 60

export interface Invoked {
  execution: Execution
  state: TaskState
  event: unknown
}

export class Executions {
  readonly byName = new Map<string, Execution>()
  /** What was invoked so far: it may be invoked again. */
  readonly invocations: Invoked[] = []
  readonly #tokens = new Map<string, () => void>()
  readonly #world: World

  constructor(world: World) {
    this.#world = world
  }

  of(worker: Worker): ExecutionsPort {
    const { scheduler, system } = this.#world
    const lost = () => new system.LoopError('StoreUnavailable', 'no answer')
    const effect = (what: string, perform: () => void): Promise<void> => scheduler.effect(worker, { what, writes: true, perform, lost })
    return {
      start: (name, input) => effect(`start ${name}`, () => this.#start(name, input)),
      stop: (name) => effect(`stop ${name}`, () => this.byName.get(name)?.end('stopped', 'ABORTED')),
      wake: (token) =>
        effect(`wake ${token}`, () => {
          this.#world.monitor.woken(worker, token)
          this.#tokens.get(token)?.()
        }),
    }
  }

  running(): Execution[] {
    return [...this.byName.values()].filter(({ status }) => status === 'running')
  }

  /** The process is gone, and its executions with it. Their names stay used. */
  vanish(): void {
    for (const execution of this.running()) execution.end('vanished', null)
    this.#tokens.clear()
  }

  /** Invokes a state's function, as a worker of its own. */
  invoke(
    execution: Execution,
    state: TaskState,
    event: unknown,
    onEnd: (end: { value: unknown } | { error: unknown }) => void,
    onDeath: () => void,
  ): Worker {
    const { system, monitor } = this.#world
    this.invocations.push({ execution, state, event })
    const duty = { runId: execution.runId, epoch: execution.epoch, timeout: LAMBDA_SECONDS[state] ?? SMALL_SECONDS }
    const worker: Worker = this.#world.call(
      `${state} of ${execution.name}`,
      duty,
      // As a Lambda is called: only what JSON can carry goes in and comes out.
      async (ports, invocation) => asJson(await system.handlersOf(ports)[state](asJson(event), invocation)),
      (end) => {
        if ('value' in end) monitor.answered(worker, state, execution.runId)
        else if (system.asLoopError(end.error).name === 'StaleTurn') monitor.saw('late worker discarded')
        onEnd(end)
      },
    )
    worker.onDeath = onDeath
    return worker
  }

  /** A token under which the execution may be woken once. */
  token(execution: Execution, wake: () => void): string {
    const token = `token-${execution.name}-${this.#tokens.size + 1}`
    this.#tokens.set(token, wake)
    return token
  }

  #start(name: string, input: RunState): void {
    const { monitor } = this.#world
    monitor.executionStarted(name, input, this.byName.get(name)?.input ?? null)
    if (this.byName.has(name)) return
    const execution = new Execution(this.#world, name, asJson(input) as RunState)
    this.byName.set(name, execution)
    execution.begin()
  }
}

const asJson = (value: unknown): unknown => (value === undefined ? null : JSON.parse(JSON.stringify(value)))
