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

/** What is left when others may go on: to hand over the answer, or to be held up over it. */
interface Rest<T> {
  rest: () => Promise<T>
}

/** `act`, or what the seed makes of it. Errors: those of `act`, and those that the port may have. */
export const perform = async <T>(world: World, life: Life, effect: Effect, act: () => Promise<T>): Promise<T> => {
  const worker = workers.getStore() ?? null
  const turn = <R>(what: () => Promise<R>) => world.turnstile.run(`${worker?.name ?? life.id} ${effect.name}`, worker === null, what)
  await gate(life, worker)
  const step = await turn(async () => {
    if (life.killed) return { rest: never }
    const outside = world.arrive(life, worker)
    return outside ? { outside } : once(world, life, worker, effect, act)
  })
  if ('rest' in step) return step.rest()
  world.monitor.note(`  outside, before ${effect.name}: ${step.outside}`)
  await world.outside(step.outside)
  await gate(life, worker)
  const { rest } = await turn(() => once(world, life, worker, effect, act))
  return rest()
}

const once = async <T>(world: World, life: Life, worker: Worker | null, effect: Effect, act: () => Promise<T>): Promise<Rest<T>> => {
  if (life.killed) return { rest: never }
  const { monitor, chance } = world
  const fault = chosen(world, life, worker, effect)
  world.clock += chance.int(1, 40, 'takes', effect.name, monitor.counts.effects)
  monitor.note(`${monitor.counts.effects} ${worker?.name ?? life.id} ${effect.name}${fault ? ` ← ${fault}` : ''}`)
  if (fault) monitor.counts.faults++
  if (fault === 'kill') world.kill(life)
  if (fault === 'kill') return { rest: never }
  if (fault === 'transient') throw failure(world, effect)
  if (fault === 'untyped') throw untyped(world)
  if (fault === 'slow') world.clock += chance.int(1, 9, 'slow', effect.name) * 60_000
  if (fault === 'stall') return { rest: () => late(world, life, worker, effect, act) }
  const error = fault === 'lost' ? failure(world, effect) : null
  const done = effect.alone === false ? act : answering(await act())
  const rest = async () => {
    const answer = await done()
    if (error) throw error
    if (fault === 'kill-after') world.kill(life)
    if (fault === 'stall-after' && worker) await world.giveUp(worker)
    await gate(life, worker)
    return answer
  }
  return { rest }
}

const answering =
  <T>(answer: T) =>
  async (): Promise<T> =>
    answer

/** The worker is given up before the effect, and does it when it goes on. */
const late = async <T>(world: World, life: Life, worker: Worker | null, effect: Effect, act: () => Promise<T>): Promise<T> => {
  if (worker) await world.giveUp(worker)
  await gate(life, worker)
  return effect.alone === false ? act() : world.turnstile.run(`${worker?.name} ${effect.name}`, worker === null, act)
}

const untyped = (world: World): Error => {
  world.monitor.excuses.add('Unexpected').add('AgentFailed')
  return new Error('socket hang up')
}

const failure = (world: World, { port, name }: Effect): LoopError => {
  const error = world.chance.pick(TRANSIENT[port], 'error', name, world.monitor.counts.effects)
  // Through an agent, what its tools throw is its own failure.
  world.monitor.excuses.add(error).add(port === 'files' ? 'AgentFailed' : error)
  return new LoopError(error, `as the seed says, at ${name}`)
}
