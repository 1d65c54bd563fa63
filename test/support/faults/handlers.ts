/** The handler of a state as a worker of its own: on the world's clock, and given up when the seed says so. */
import type { Handler } from '../../../lib/local/execution.ts'
import { asLoopError } from '../../../lib/loop/errors.ts'
import { RETRIERS, type TaskState } from '../../../lib/names.ts'
import { workers, type Life, type Worker } from './effect.ts'
import type { World } from './world.ts'

/** Seconds until the next try, as Step Functions would wait. */
const waitFor = (error: string, tries: number): number => {
  const retrier = RETRIERS.find(({ errors }) => errors.includes(error))
  return retrier ? Math.min(retrier.longest, retrier.seconds * retrier.rate ** tries) : 0
}

const never = (): Promise<never> => new Promise(() => {})

export const workHere = (world: World, life: Life, state: TaskState, handler: Handler): Handler => {
  return async (event, invocation) => {
    if (life.killed) return never()
    const worker: Worker = {
      name: `${life.id} ${state} ${world.nth(`${life.id} ${state}`)}`,
      state,
      frozen: null,
      thawsAt: 0,
      commit: '',
      givenUp: Promise.withResolvers(),
    }
    const left = Math.round((invocation.deadline - Date.now()) / 1000) * 1000
    const work = workers.run(worker, () => handler(event, { ...invocation, deadline: world.clock + left }))
    world.staff.works(worker, work)
    void work.catch((error: unknown) => world.monitor.note(`  ${worker.name}: ${String(error)}`))
    try {
      const answer = await Promise.race([work, worker.givenUp.promise])
      return life.killed ? await never() : answer
    } catch (thrown) {
      if (life.killed) return never()
      const { name } = asLoopError(thrown)
      world.clock += waitFor(name, world.nth(`${life.id} ${state} ${name}`)) * 1000
      throw thrown
    }
  }
}
