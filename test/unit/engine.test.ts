import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { TaskState } from '../../lib/names.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import { Engine, type EngineOptions } from '../../lib/local/engine.ts'
import type { EngineEvent } from '../../lib/local/engine-events.ts'
import type { Handler } from '../../lib/local/execution.ts'
import { aRunState } from '../support/run-state.ts'

const to =
  (step: string): Handler =>
  async (event) => ({ ...(event as object), next: step })
const engineOf = (script: Partial<Record<TaskState, Handler>>, more: Partial<EngineOptions> = {}) => {
  const events: EngineEvent[] = []
  const engine = new Engine({
    handler: (state) => script[state] ?? to('Close'),
    waits: true,
    retryInterval: 0,
    onEvent: (event) => events.push(event),
    ...more,
  })
  return { engine, events }
}
const done = { Close: to('Done') }

describe('starting', () => {
  test('the same name again starts nothing, not even after its end', async () => {
    let prepared = 0
    const { engine } = engineOf({
      ...done,
      Prepare: async (event) => {
        prepared++
        return to('Close')(event, {} as never)
      },
    })
    await engine.start('a-1', aRunState())
    await engine.start('a-1', aRunState())
    await engine.waitFor('a-1')
    await engine.start('a-1', aRunState())
    await engine.waitFor('a-1')
    await engine.start('a-2', aRunState())
    await engine.waitFor('a-2')
    expect(prepared).toBe(2)
    expect(engine.names()).toEqual(['a-1', 'a-2'])
  })
  test('an unknown name has no end', async () => {
    expect(await engineOf(done).engine.waitFor('nobody')).toBeNull()
  })
  test('a failed run ends as failed, with the name of the Fail state', async () => {
    const { engine } = engineOf({ Close: to('Failed') })
    await engine.start('a-1', aRunState())
    expect(await engine.waitFor('a-1')).toMatchObject({ kind: 'failed' })
  })
  test('200 at once', async () => {
    const { engine } = engineOf({ ...done, Prepare: to('Review'), Review: to('Publish') })
    const names = Array.from({ length: 200 }, (_, index) => `r-${index}`)
    await Promise.all(names.map((name) => engine.start(name, aRunState())))
    expect(await Promise.all(names.map((name) => engine.waitFor(name)))).toEqual(names.map(() => ({ kind: 'succeeded' })))
  })
  test('handlers see copies: what one changes in place no other sees', async () => {
    const start = aRunState()
    const { engine } = engineOf({
      ...done,
      Prepare: async (event) => {
        ;(event as { policy: { rounds: number } }).policy.rounds = 99
        return { ...start, next: 'Close' }
      },
    })
    await engine.start('a-1', start)
    await engine.waitFor('a-1')
    expect(start.policy.rounds).toBe(3)
  })
})

describe('Park', () => {
  const parked = aRunState('Park')
  test('waits for its token and no other', async () => {
    const tokens: string[] = []
    const asked = Promise.withResolvers<void>()
    const { engine, events } = engineOf({
      ...done,
      Park: async (event) => {
        tokens.push((event as { token: string }).token)
        asked.resolve()
        return null
      },
    })
    await engine.start('a-1', parked)
    await asked.promise
    await engine.wake('another')
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(events.some((event) => event.kind === 'entered' && event.state === 'Decide')).toBe(false)
    await engine.wake(tokens[0] ?? '')
    expect(await engine.waitFor('a-1')).toEqual({ kind: 'succeeded' })
    await engine.wake(tokens[0] ?? '')
  })
  test('where nobody waits, the execution ends as parked once the question is stored, and Decide is not entered', async () => {
    let stored = false
    const { engine, events } = engineOf(
      {
        Park: async () => {
          await new Promise((resolve) => setTimeout(resolve, 20))
          stored = true
          return null
        },
      },
      { waits: false },
    )
    await engine.start('a-1', parked)
    expect(await engine.waitFor('a-1')).toEqual({ kind: 'parked' })
    expect(stored).toBe(true)
    expect(events.some((event) => event.kind === 'entered' && event.state === 'Decide')).toBe(false)
  })
  test('a decision that is there already goes on, whether or not anybody waits', async () => {
    const going = new Engine({
      handler: (state) =>
        state === 'Park'
          ? async (event) => {
              await going.wake((event as { token: string }).token)
              return null
            }
          : state === 'Close'
            ? to('Done')
            : to('Close'),
      waits: false,
    })
    await going.start('a-1', parked)
    expect(await going.waitFor('a-1')).toEqual({ kind: 'succeeded' })
  })
  test('a Park that fails is not parked', async () => {
    const { engine, events } = engineOf(
      {
        Park: async () => {
          throw new LoopError('StaleExecution')
        },
      },
      { waits: false },
    )
    await engine.start('a-1', parked)
    expect(await engine.waitFor('a-1')).toEqual({ kind: 'succeeded' })
    expect(events.at(-1)).toMatchObject({ state: 'Stale' })
  })
})

describe('stopping', () => {
  test('fires the signal, waits for the handler to let go, and neither retries nor catches', async () => {
    let entered = 0
    let released = false
    const asked: string[] = []
    const prepare: Handler = async (_event, invocation) => {
      entered++
      await new Promise((resolve) => invocation.signal.addEventListener('abort', resolve))
      await new Promise((resolve) => setTimeout(resolve, 30))
      released = true
      throw new LoopError('AgentCancelled')
    }
    const { engine } = engineOf({}, { handler: (state) => (asked.push(state), prepare) })
    await engine.start('a-1', aRunState())
    await new Promise((resolve) => setTimeout(resolve, 10))
    await engine.interrupt()
    expect(released).toBe(true)
    expect(await engine.waitFor('a-1')).toEqual({ kind: 'stopped' })
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(entered).toBe(1)
    expect(asked).toEqual(['Prepare'])
  })
  test('a handler that never lets go is waited for no longer than the grace', async () => {
    const { engine } = engineOf({ Prepare: () => new Promise(() => {}) })
    await engine.start('a-1', aRunState())
    await engine.interrupt(20)
    expect(await engine.waitFor('a-1')).toEqual({ kind: 'stopped' })
  })
  test('ends the wait of Park', async () => {
    const { engine } = engineOf({ Park: async () => null })
    await engine.start('a-1', aRunState('Park'))
    await new Promise((resolve) => setTimeout(resolve, 10))
    await engine.stop('a-1')
    expect(await engine.waitFor('a-1')).toEqual({ kind: 'stopped' })
  })
  test('between retries ends the run of retries', async () => {
    let entered = 0
    const { engine } = engineOf(
      {
        Prepare: async () => {
          entered++
          throw new LoopError('StoreUnavailable')
        },
      },
      { retryInterval: 200 },
    )
    await engine.start('a-1', aRunState())
    await new Promise((resolve) => setTimeout(resolve, 30))
    await engine.interrupt()
    await new Promise((resolve) => setTimeout(resolve, 30))
    expect(entered).toBe(1)
  })
})

test('what it tells: states with their time, retries with their error, messages of the handler', async () => {
  let left = 1
  const { engine, events } = engineOf({
    ...done,
    Prepare: async (event, invocation) => {
      await setImmediate()
      invocation.progress('fetching')
      if (left-- > 0) throw new LoopError('FetchFailed', 'no route')
      return to('Close')(event, invocation)
    },
  })
  await engine.start('a-1', aRunState())
  await engine.waitFor('a-1')
  expect(events.map((event) => `${event.kind} ${event.state}`)).toEqual([
    'entered Route',
    'left Route',
    'entered Prepare',
    'progress Prepare',
    'failed Prepare',
    'retried Prepare',
    'progress Prepare',
    'left Prepare',
    'entered Route',
    'left Route',
    'entered Close',
    'left Close',
    'entered Route',
    'left Route',
    'entered Done',
    'left Done',
  ])
  expect(events.find((event) => event.kind === 'failed')).toMatchObject({ error: 'FetchFailed', cause: 'no route' })
  expect(events.find((event) => event.kind === 'retried')).toMatchObject({ error: 'FetchFailed', attempt: 1 })
})

test('a deadline lies before the time-out of the state, and at most before that of a Lambda', async () => {
  const deadlines: number[] = []
  const { engine } = engineOf({
    ...done,
    Prepare: async (event, invocation) => {
      deadlines.push(invocation.deadline - Date.now())
      return to('Close')(event, invocation)
    },
  })
  await engine.start('a-1', aRunState())
  await engine.waitFor('a-1')
  expect(deadlines[0]).toBeGreaterThan(0)
  expect(deadlines[0]).toBeLessThan(15 * 60 * 1000)
})

describe('a failed execution that cannot be recorded either', () => {
  const unrecorded = () => {
    const told: string[] = []
    const onFailed = async ({ name }: { name: string }) => {
      told.push(name)
      throw new LoopError('StoreUnavailable', 'nobody answers')
    }
    return { told, ...engineOf({ Close: to('Failed') }, { onFailed }) }
  }

  test('is said to whoever waits for it', async () => {
    const { engine, told } = unrecorded()
    await engine.start('a-1', aRunState())
    await expect(engine.waitFor('a-1')).rejects.toMatchObject({ name: 'StoreUnavailable' })
    expect(told).toEqual(['a-1'])
  })
  test('ends no process in which nobody waits for it, and keeps nobody from letting go', async () => {
    const { engine, told } = unrecorded()
    await engine.start('a-1', aRunState())
    while (told.length === 0) await setImmediate()
    await setImmediate()
    await expect(engine.interrupt()).resolves.toBeUndefined()
  })
})
