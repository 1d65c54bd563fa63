/** What a process does to the world, one effect at a time, and what the seed makes of each. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { LoopError, type ErrorName } from '../../../lib/loop/errors.ts'
import type { TaskState } from '../../../lib/names.ts'
import type { Fault } from './plan.ts'
import type { World } from './world.ts'

export interface Effect {
  port: 'sessions' | 'runs' | 'branches' | 'history' | 'artifacts' | 'source' | 'files' | 'forge' | 'agent' | 'executions'
  /** The same in every replay: no time, no unique value, no folder. */
  name: string
  writes: boolean
  /** false: other effects go on inside of it. */
  alone?: boolean
}

/** One invocation of a handler. */
export interface Worker {
  name: string
  state: TaskState
  /** Set once the engine was told that the worker is gone: it goes on when it is let. */
  frozen: PromiseWithResolvers<void> | null
  thawsAt: number
  /** Commit of the working copy that it has open. */
  commit: string
  givenUp: PromiseWithResolvers<never>
}

/** The process that effects belong to. What is killed does not come to anything any more. */
export interface Life {
  id: string
  killed: boolean
  died: PromiseWithResolvers<void>
}

export const workers = new AsyncLocalStorage<Worker | null>()

const never = (): Promise<never> => new Promise(() => {})

/** What the port may throw that is worth another try. */
const TRANSIENT: Record<Effect['port'], readonly [ErrorName, ...ErrorName[]]> = {
  sessions: ['StoreUnavailable', 'StoreUnavailable', 'StoreConflict'],
  runs: ['StoreUnavailable', 'StoreUnavailable', 'StoreConflict'],
  branches: ['StoreUnavailable'],
  history: ['StoreUnavailable'],
  artifacts: ['StoreUnavailable'],
  source: ['FetchFailed', 'GitTimedOut'],
  files: ['GitTimedOut'],
  forge: ['PushFailed'],
  agent: ['AgentOverloaded', 'AgentThrottled', 'AgentTimedOut'],
  executions: ['StoreUnavailable'],
}

/** Files are read and written often, and rarely fail. */
const OFTEN: Partial<Record<Effect['port'], number>> = { files: 0.3, agent: 2, forge: 3, source: 2, executions: 3, branches: 2 }

const chosen = (world: World, life: Life, worker: Worker | null, effect: Effect): Fault | null => {
  const { plan, chance, calm } = world
  const nth = world.nth(effect.name)
  if (calm || !chance.happens(plan.rate * (OFTEN[effect.port] ?? 1), 'fault', effect.name, nth)) return null
  const { stall = 0, kill = 0, ...weights } = plan.faults
  const killing = life.killed || world.monitor.counts.kills >= plan.kills ? 0 : 1
  const may = {
    ...weights,
    lost: effect.writes || effect.port === 'agent' ? (weights.lost ?? 0) : 0,
    stall: worker ? stall : 0,
    'stall-after': worker ? (weights['stall-after'] ?? 0) : 0,
    kill: kill * killing,
    'kill-after': (weights['kill-after'] ?? 0) * killing,
  }
  return chance.weighted<Fault>(may, 'how', effect.name, nth)
}

/** Holds what belongs to a process that is gone, or to a worker that was given up. */
const gate = async (life: Life, worker: Worker | null): Promise<void> => {
  if (life.killed) return never()
  if (worker?.frozen) await worker.frozen.promise
  if (life.killed) return never()
}

export const perform = async <T>(world: World, life: Life, effect: Effect, act: () => Promise<T>): Promise<T> => {
  const worker = workers.getStore() ?? null
  await gate(life, worker)
  await world.arrive(life, effect)
  await gate(life, worker)
  const fault = chosen(world, life, worker, effect)
  world.clock += world.chance.int(1, 40, 'takes', effect.name, world.monitor.counts.effects)
  world.monitor.note(`${world.monitor.counts.effects} ${worker?.name ?? life.id} ${effect.name}${fault ? ` ← ${fault}` : ''}`)
  const run = () => (effect.alone === false ? act() : world.lock.run(act))
  if (fault === null) return answered(life, worker, await run())
  world.monitor.counts.faults++
  const fails = () => failure(world, effect)
  switch (fault) {
    case 'transient':
      throw fails()
    case 'untyped':
      world.monitor.excuses.add('Unexpected').add('AgentFailed')
      throw new Error('socket hang up')
    case 'lost':
      await run()
      throw fails()
    case 'slow':
      world.clock += world.chance.int(1, 9, 'slow', effect.name) * 60_000
      return answered(life, worker, await run())
    case 'kill':
      return world.kill(life)
    case 'kill-after':
      await run()
      return world.kill(life)
    case 'stall':
      if (worker) await world.giveUp(worker)
      return answered(life, worker, await run())
    case 'stall-after': {
      const answer = await run()
      if (worker) await world.giveUp(worker)
      return answered(life, worker, answer)
    }
  }
}

/** An answer reaches nobody in a process that was killed meanwhile. */
const answered = async <T>(life: Life, worker: Worker | null, answer: T): Promise<T> => {
  await gate(life, worker)
  return answer
}

const failure = (world: World, { port, name }: Effect): LoopError => {
  const error = world.chance.pick(TRANSIENT[port], 'error', name, world.monitor.counts.effects)
  // Through an agent, what its tools throw is its own failure.
  world.monitor.excuses.add(error).add(port === 'files' ? 'AgentFailed' : error)
  return new LoopError(error, `as the seed says, at ${name}`)
}
