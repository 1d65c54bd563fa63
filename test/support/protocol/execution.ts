/** One execution: where it stands, what it waits for, and how it goes on by the definition's Route, Retry and Catch. */
import type { AslRetry, AslState } from '../../../lib/infra/loop-definition.ts'
import type { RunState } from '../../../lib/loop/run.ts'
import type { TaskState } from '../../../lib/names.ts'
import type { Timer } from './scheduler.ts'
import type { Worker } from './worker.ts'
import type { World } from './world.ts'

export type Status = 'running' | 'succeeded' | 'failed' | 'stopped' | 'vanished'

/** What `lambda:invoke.waitForTaskToken` has beside the state's own limit. */
const PARK_SECONDS = 90

export class Execution {
  readonly name: string
  readonly runId: string
  readonly epoch: number
  readonly input: RunState
  status: Status = 'running'
  state = ''
  data: Record<string, unknown> = {}
  /** What it waits for: a worker, a token, or the time of the next try. */
  waits: 'worker' | 'token' | 'retry' | 'nothing' = 'nothing'
  worker: Worker | null = null
  readonly #world: World
  #attempt = 0
  #tries = new Map<AslRetry, number>()
  #timers: Timer[] = []

  constructor(world: World, name: string, input: RunState) {
    this.#world = world
    this.name = name
    this.runId = input.runId
    this.epoch = input.epoch
    this.input = input
  }

  begin(): void {
    this.#enter(this.#world.system.machine.StartAt, { ...this.input })
  }

  /** `told`: the status that the service tells of; null where nobody is told. */
  end(status: Exclude<Status, 'running'>, told: 'FAILED' | 'ABORTED' | null): void {
    if (this.status !== 'running') return
    this.status = status
    this.#attempt++
    this.#clear()
    this.waits = 'nothing'
    this.#world.scheduler.note(`${this.name} ${status} in ${this.state}`)
    if (told) this.#world.outside.lost(this.name, told)
    if (status === 'stopped' && this.#world.profile.embedded) this.worker?.controller.abort()
  }

  #clear(): void {
    for (const timer of this.#timers.splice(0)) this.#world.scheduler.cancel(timer)
  }

  #timer(seconds: number, what: string, fire: () => void): void {
    const attempt = this.#attempt
    this.#timers.push(
      this.#world.scheduler.at(seconds * 1000, `${this.name}: ${what}`, () => {
        if (this.status === 'running' && this.#attempt === attempt) fire()
      }),
    )
  }

  #enter(name: string, data: Record<string, unknown>): void {
    const state = this.#world.system.machine.States[name]
    if (!state) throw new Error(`the machine has no state ${name}`)
    this.state = name
    this.data = data
    this.#tries = new Map()
    if (state.Type === 'Choice') return this.#enter(chosen(state, data), data)
    if (name === 'Stale') this.#world.monitor.saw('stale execution ended silently')
    if (state.Type === 'Succeed') return this.end('succeeded', null)
    if (state.Type === 'Fail') return this.end('failed', 'FAILED')
    this.#try(state)
  }

  #try(state: AslState): void {
    this.#attempt++
    this.#clear()
    const { executions } = this.#world
    const attempt = this.#attempt
    const isCurrent = (): boolean => this.status === 'running' && this.#attempt === attempt
    const waitsForToken = state.Resource?.endsWith('.waitForTaskToken') ?? false
    const succeed = (value: unknown): void => {
      if (!isCurrent()) return
      this.#clear()
      this.#enter(state.Next ?? '', state.ResultPath === null ? this.data : (value as Record<string, unknown>))
    }
    const token = waitsForToken ? executions.token(this, () => succeed({})) : null
    this.waits = 'worker'
    this.worker = executions.invoke(
      this,
      this.state as TaskState,
      token === null ? this.data : { state: this.data, token },
      (end) => {
        if (!isCurrent()) return
        if ('error' in end) {
          const error = this.#world.system.asLoopError(end.error)
          this.#fail(state, error.name, JSON.stringify({ errorType: error.name, errorMessage: error.message }))
        } else if (token === null) succeed(end.value)
        else this.waits = 'token'
      },
      // The service learns of it by and by.
      () => {
        if (isCurrent())
          this.#timer(this.#world.random.int(1, 20), 'the function is gone', () => this.#fail(state, 'Lambda.Unknown', 'killed'))
      },
    )
    const seconds = state.TimeoutSecondsPath ? (this.data['policy'] as RunState['policy']).askSeconds : (state.TimeoutSeconds ?? 0)
    this.#timer(seconds, 'time-out', () => this.#fail(state, 'States.Timeout', ''))
    // A function is killed at its own time-out; one that cannot be (another process) runs on and counts as gone.
    if (waitsForToken)
      this.#timer(PARK_SECONDS, 'function time-out', () => {
        if (this.waits === 'worker') this.#fail(state, 'Lambda.Unknown', 'killed')
      })
  }

  #fail(state: AslState, error: string, cause: string): void {
    this.#attempt++
    this.#clear()
    this.#world.scheduler.note(`${this.name}: ${this.state} failed with ${error}`)
    const retrier = state.Retry?.find(({ ErrorEquals }) => ErrorEquals.includes(error))
    const tries = (retrier && this.#tries.get(retrier)) ?? 0
    if (retrier && tries < retrier.MaxAttempts) {
      this.#tries.set(retrier, tries + 1)
      const delay = Math.min(retrier.IntervalSeconds * retrier.BackoffRate ** tries, retrier.MaxDelaySeconds)
      this.waits = 'retry'
      this.#timer(retrier.JitterStrategy ? delay * this.#world.random.next() : delay, `try ${this.state} again`, () => this.#try(state))
      return
    }
    const catcher = state.Catch?.find(({ ErrorEquals }) => ErrorEquals.includes(error) || ErrorEquals.includes('States.ALL'))
    if (!catcher) return this.end('failed', 'FAILED')
    this.#enter(catcher.Next, { ...this.data, [catcher.ResultPath.replace('$.', '')]: { Error: error, Cause: cause } })
  }
}

/** The first choice whose conditions are met; `IsPresent` and `StringEquals` are all that the machine uses. */
const chosen = (state: AslState, data: Record<string, unknown>): string => {
  const isMet = (condition: Record<string, unknown>): boolean => {
    const value = data[String(condition['Variable']).replace('$.', '')]
    if ('IsPresent' in condition) return (value !== undefined) === condition['IsPresent']
    if ('StringEquals' in condition) return value === condition['StringEquals']
    throw new Error(`a choice by ${JSON.stringify(condition)}`)
  }
  return state.Choices?.find(({ And }) => And.every(isMet))?.Next ?? state.Default ?? ''
}
