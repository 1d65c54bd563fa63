import { describe, expect, test } from 'vitest'
import { TASK_STATES, type Step, type TaskState } from '../../lib/names.ts'
import { errorsOfClass, LoopError, type ErrorName } from '../../lib/loop/errors.ts'
import { Engine } from '../../lib/local/engine.ts'
import type { EngineEvent } from '../../lib/local/engine-events.ts'
import type { Handler } from '../../lib/local/execution.ts'
import { LOOP_MACHINE, statesOf } from '../../lib/local/machine.ts'
import { aRunState } from '../support/run-state.ts'

type Script = Partial<Record<TaskState, Handler>>

const states = statesOf(LOOP_MACHINE) as Record<
  string,
  { Type: string; Catch?: { ErrorEquals: string[]; Next: string; ResultPath?: string }[]; Retry?: unknown[] }
>
const next =
  (step: Step): Handler =>
  async (event) => ({ ...(event as object), next: step })

/** Runs the machine once from `start`, with scripted handlers; a state without a script may not be entered. */
const play = async (start: unknown, script: Script) => {
  const events: EngineEvent[] = []
  const given: { state: TaskState; event: unknown }[] = []
  const handler =
    (state: TaskState): Handler =>
    async (event, invocation) => {
      given.push({ state, event })
      const scripted = script[state]
      if (!scripted) throw new Error(`${state} was not expected`)
      const answer = await scripted(event, invocation)
      if (state === 'Park') await engine.wake((event as { token: string }).token)
      return answer
    }
  const engine = new Engine({ handler, waits: true, retryInterval: 0, onEvent: (event) => events.push(event) })
  await engine.start('r-1', start as never)
  const end = await engine.waitFor('r-1')
  const path = events.flatMap((event) => (event.kind === 'entered' ? [event.state] : []))
  return { end, path, given, events, last: given.at(-1)?.event as Record<string, unknown> }
}

/** The state of a run that is about to enter `name`: Decide comes after Park, RecordFailure after what nobody understands. */
const entering = (name: TaskState) => aRunState(name === 'RecordFailure' ? ('none' as Step) : name === 'Decide' ? 'Park' : name)

const wholeWay: Script = {
  Prepare: next('Review'),
  Review: next('Fix'),
  Fix: next('Certify'),
  Certify: next('Park'),
  Park: async () => null,
  Decide: next('Publish'),
  Publish: next('Close'),
  Close: next('Done'),
}

test('one pass visits every state on the main path, and the state travels whole', async () => {
  const start = aRunState('Prepare', { turn: 4, round: 2 })
  const { end, path, given } = await play(start, wholeWay)
  expect(end).toEqual({ kind: 'succeeded' })
  const steps = path.filter((name) => name !== 'Route')
  expect(steps).toEqual(['Prepare', 'Review', 'Fix', 'Certify', 'Park', 'Decide', 'Publish', 'Close', 'Done'])
  expect(given.find(({ state }) => state === 'Close')?.event).toEqual({ ...start, next: 'Close' })
})

test('Park is given the state and a token of its own each time; its answer does not touch the state', async () => {
  const start = aRunState('Park')
  let asked = 0
  const { given } = await play(start, {
    Park: async () => ({ answer: 'thrown away' }),
    Decide: async (event) => ({ ...(event as object), next: asked++ === 0 ? 'Park' : 'Close' }),
    Close: next('Done'),
  })
  const parks = given.filter(({ state }) => state === 'Park').map(({ event }) => event as { state: unknown; token: string })
  expect(parks[0]?.state).toEqual(start)
  expect(new Set(parks.map(({ token }) => token)).size).toBe(2)
  expect(given.filter(({ state }) => state === 'Decide').map(({ event }) => event)).toEqual([start, start])
})

describe('entering', () => {
  const entry: [Step, string[]][] = [
    ['Prepare', ['Route', 'Prepare']],
    ['Review', ['Route', 'Review']],
    ['Fix', ['Route', 'Fix']],
    ['Certify', ['Route', 'Certify']],
    ['Park', ['Route', 'Park']],
    ['Publish', ['Route', 'Publish']],
    ['Close', ['Route', 'Close']],
  ]
  test.each(entry)('a run can be entered at %s', async (step, begins) => {
    const { path } = await play(aRunState(step), { ...wholeWay, Close: next('Done') })
    expect(path.slice(0, 2)).toEqual(begins)
  })
  test.each([['nonsense'], ['Decide'], ['RecordFailure'], [undefined], [7], [null]])(
    'a next of %j goes to RecordFailure, and the run ends',
    async (nonsense) => {
      const { path, end } = await play({ ...aRunState(), next: nonsense }, { RecordFailure: next('Close'), Close: next('Failed') })
      expect(path).toEqual(['Route', 'RecordFailure', 'Close', 'Route', 'Failed'])
      expect(end).toMatchObject({ kind: 'failed' })
    },
  )
})

describe('every Catch, once', () => {
  const catches = Object.entries(states).flatMap(([name, state]) =>
    (state.Catch ?? []).flatMap((catcher) => catcher.ErrorEquals.map((error) => ({ name: name as TaskState, error, to: catcher.Next }))),
  )
  test('every task has one, and each keeps the state', () => {
    for (const name of TASK_STATES) expect(states[name]?.Catch?.at(-1)?.ErrorEquals).toEqual(['States.ALL'])
    expect(
      Object.values(states)
        .flatMap((state) => state.Catch ?? [])
        .map((catcher) => catcher.ResultPath),
    ).toEqual(
      Object.values(states)
        .flatMap((state) => state.Catch ?? [])
        .map(() => '$.error'),
    )
  })
  test.each(catches)('$name on $error goes to $to', async ({ name, error, to }) => {
    const thrown = error === 'States.ALL' ? 'TurnFailed' : error
    const fails: Handler = async () => {
      // nobody answers: the time that the run's policy gives a person is over
      if (thrown === 'States.Timeout') await new Promise((resolve) => setTimeout(resolve, 1100))
      throw new LoopError(thrown as ErrorName, 'scripted')
    }
    const start = { ...entering(name), policy: { ...aRunState().policy, askSeconds: 1 } }
    const { path, last, given, events } = await play(start, {
      RecordFailure: next('Close'),
      Close: next('Failed'),
      Park: async () => null,
      Decide: next('Close'),
      [name]: fails,
    })
    expect(path[path.indexOf(name) + 1]).toBe(to)
    expect(events.some((event) => event.kind === 'caught' && event.state === name && event.error === thrown)).toBe(true)
    if (['Stale', 'Failed'].includes(to)) expect(path.at(-1)).toBe(to)
    else {
      const after = given[given.findIndex(({ state }) => state === name) + 1]?.event as Record<string, unknown>
      expect(after).toMatchObject({ ...start, error: { Error: thrown } })
      expect(last['runId']).toBe(start.runId)
    }
  })
  test('a stale execution ends silently: nothing but the state that found out has run', async () => {
    for (const name of TASK_STATES.filter((state) => state !== 'RecordFailure')) {
      const { given, end } = await play(entering(name), {
        Park: async () => null,
        [name]: async () => {
          throw new LoopError('StaleExecution')
        },
      })
      expect(given.map(({ state }) => state)).toEqual(name === 'Decide' ? ['Park', 'Decide'] : [name])
      expect(end).toEqual({ kind: 'succeeded' })
    }
  })
})

describe('Retry', () => {
  test.each(errorsOfClass('transient'))('%s is retried in the same state with the same input, then goes on', async (error) => {
    let left = 2
    const start = aRunState('Review')
    const { given, path } = await play(start, {
      Review: async (event) => {
        if (left-- > 0) throw new LoopError(error)
        return { ...(event as object), next: 'Close' }
      },
      Close: next('Done'),
    })
    expect(given.filter(({ state }) => state === 'Review').map(({ event }) => event)).toEqual([start, start, start])
    expect(path).toEqual(['Route', 'Review', 'Route', 'Close', 'Route', 'Done'])
  })
  test.each(['TurnFailed', 'AgentRefused', 'BadSettings', 'Unexpected'] as const)('%s is not retried', async (error) => {
    const { given } = await play(aRunState('Review'), {
      Review: async () => {
        throw new LoopError(error)
      },
      RecordFailure: next('Close'),
      Close: next('Failed'),
    })
    expect(given.filter(({ state }) => state === 'Review')).toHaveLength(1)
  })
  test('what is no error of the catalogue is Unexpected, with its message in the cause as Lambda gives it', async () => {
    const { given } = await play(aRunState('Fix'), {
      Fix: async () => {
        throw new TypeError('undefined is not a function')
      },
      RecordFailure: next('Close'),
      Close: next('Failed'),
    })
    const { error } = given[1]!.event as { error: { Error: string; Cause: string } }
    expect(error.Error).toBe('Unexpected')
    expect(JSON.parse(error.Cause)).toEqual({ errorType: 'Unexpected', errorMessage: 'undefined is not a function' })
  })
})

test('together these tests enter every state of the definition', async () => {
  const seen = new Set<string>()
  for (const script of [
    wholeWay,
    { Prepare: next('nonsense' as Step), RecordFailure: next('Close'), Close: next('Failed') },
    {
      Prepare: async () => {
        throw new LoopError('StaleExecution')
      },
    },
  ] as Script[])
    for (const name of (await play(aRunState(), script)).path) seen.add(name)
  expect([...seen].sort()).toEqual(Object.keys(states).sort())
})
