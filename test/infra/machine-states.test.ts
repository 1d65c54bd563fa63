/** Every state of the synthesized machine is walked: what must hold of each is asked of each. */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ROOT } from '../../lib/infra/bundling.ts'
import { loopDefinition } from '../../lib/infra/loop-definition.ts'
import { errorsOfClass } from '../../lib/loop/errors.ts'
import { CONTROL_STATES, FUNCTION_FOLDERS, placeholderArn, STEPS, TASK_STATES, type TaskState } from '../../lib/names.ts'
import { reachable, synthesizedAsl, targetsOf } from '../support/asl.ts'
import { functionId, synthesize } from '../support/template.ts'

type Validate = (definition: unknown) => { isValid: boolean; errorsText: () => string }
// Its types are not published.
const validate = createRequire(import.meta.url)('asl-validator') as Validate

const template = synthesize()
const asl = synthesizedAsl(template)
const states = Object.entries(asl.States)
const tasks = states.filter(([, state]) => state.Type === 'Task') as [TaskState, (typeof states)[number][1]][]

test('the machine has exactly the states of the design', () => {
  expect(Object.keys(asl.States).toSorted()).toEqual([...TASK_STATES, ...CONTROL_STATES].toSorted())
  expect(tasks.map(([name]) => name).toSorted()).toEqual([...TASK_STATES].toSorted())
})

test('asl-validator finds nothing, and would', () => {
  const check = (definition: unknown) => validate(structuredClone(definition))
  expect(check(asl).errorsText()).toBe('')
  expect(check(asl).isValid).toBe(true)
  expect(check({ ...asl, StartAt: 'Nowhere' }).isValid).toBe(false)
})

test('the generated file of the embedded engine is the synthesized machine', () => {
  const generated: unknown = JSON.parse(readFileSync(join(ROOT, 'lib/local/loop-machine.asl.json'), 'utf8'))
  // If not: npm run generate
  expect(generated).toEqual(asl)
})

test('the definition is the same whether it is written plainly or comes out of the template', () => {
  expect(asl).toEqual(loopDefinition(placeholderArn))
})

test('every state can be reached, and every target is a state', () => {
  expect([...reachable(asl)].toSorted()).toEqual(Object.keys(asl.States).toSorted())
})

describe.each(states)('%s', (name, state) => {
  test('leads somewhere, or is an end', () => {
    const ends = state.Type === 'Succeed' || state.Type === 'Fail'
    expect(targetsOf(state).length > 0).toBe(!ends)
    for (const target of targetsOf(state)) expect(asl.States).toHaveProperty(target)
  })

  test('takes no path to a field that may be missing, and replaces the state by nothing', () => {
    const text = JSON.stringify(state)
    expect(text).not.toContain('"ResultPath":"$"')
    const paths = new Set(text.match(/"\$[^"]*"/g)?.map((path) => path.slice(1, -1)))
    for (const path of paths) expect(['$', '$.next', '$.error', '$.policy.askSeconds', '$$.Task.Token']).toContain(path)
    expect(Object.keys(state)).not.toContain('InputPath')
    expect(Object.keys(state)).not.toContain('OutputPath')
    expect(name).not.toBe('Next')
  })
})

describe.each(tasks)('task %s', (name, state) => {
  test('has a function, and the function a folder', () => {
    const payload = (state.Parameters ?? {}) as { FunctionName?: string }
    expect(payload.FunctionName ?? state.Resource).toBe(placeholderArn(name))
    expect(template.Resources[functionId(name)]?.Type).toBe('AWS::Lambda::Function')
    const files = ['handler.ts', 'index.ts']
    expect(files.filter((file) => existsSync(join(ROOT, 'functions', FUNCTION_FOLDERS[name], file)))).toEqual(files)
  })

  test('is given up after a time', () => {
    expect(state.TimeoutSeconds !== undefined).not.toBe(state.TimeoutSecondsPath !== undefined)
    expect(state.TimeoutSeconds ?? 1).toBeGreaterThan(0)
  })

  test('retries the transient errors by name, each in one place, and never everything', () => {
    const retried = (state.Retry ?? []).flatMap((retrier) => retrier.ErrorEquals)
    expect(new Set(retried).size).toBe(retried.length)
    expect(retried).toEqual(expect.arrayContaining(errorsOfClass('transient')))
    expect(retried.filter((error) => !/^(States|Lambda|Sandbox|Runtime)\./.test(error)).toSorted()).toEqual(
      errorsOfClass('transient').toSorted(),
    )
    for (const wide of ['States.ALL', 'States.TaskFailed']) expect(retried).not.toContain(wide)
    for (const retrier of state.Retry ?? []) {
      expect(retrier.MaxAttempts).toBeGreaterThan(0)
      expect(retrier.MaxDelaySeconds).toBeGreaterThan(retrier.IntervalSeconds)
      expect(retrier.ErrorEquals.length).toBeGreaterThan(0)
    }
  })

  test('catches stale executions first and everything last, and keeps the state', () => {
    const catches = state.Catch ?? []
    expect(catches.length).toBeGreaterThanOrEqual(2)
    for (const entry of catches) expect(entry.ResultPath).toBe('$.error')
    expect(catches[0]).toEqual({ ErrorEquals: errorsOfClass('stale'), ResultPath: '$.error', Next: 'Stale' })
    expect(catches.flatMap((entry) => entry.ErrorEquals).at(-1)).toBe('States.ALL')
    expect(catches.at(-1)?.ErrorEquals).toEqual(['States.ALL'])
    const failure = name === 'RecordFailure' || name === 'Close' ? 'Failed' : 'RecordFailure'
    expect(catches.at(-1)?.Next).toBe(failure)
  })
})

test('Route guards its field, knows every step, and sends what it does not know to RecordFailure', () => {
  const route = asl.States['Route']
  expect(asl.StartAt).toBe('Route')
  for (const { And, Next } of route?.Choices ?? []) {
    expect(And).toEqual([
      { Variable: '$.next', IsPresent: true },
      { Variable: '$.next', StringEquals: Next },
    ])
  }
  // Only Park leads to Decide.
  expect(route?.Choices?.map((choice) => choice.Next)).toEqual(STEPS.filter((step) => step !== 'Decide'))
  expect(route?.Default).toBe('RecordFailure')
})

test('the tasks go on as the design says', () => {
  const next = Object.fromEntries(tasks.map(([name, state]) => [name, state.Next]))
  expect(next).toEqual({
    Prepare: 'Route',
    Review: 'Route',
    Fix: 'Route',
    Certify: 'Route',
    Park: 'Decide',
    Decide: 'Route',
    Publish: 'Route',
    RecordFailure: 'Close',
    Close: 'Route',
  })
})

test('Park waits under a token, keeps the state over the answer, and a time-out decides', () => {
  const park = asl.States['Park']
  expect(park?.Resource).toBe('arn:aws:states:::lambda:invoke.waitForTaskToken')
  expect(park?.Parameters).toEqual({ FunctionName: placeholderArn('Park'), Payload: { 'state.$': '$', 'token.$': '$$.Task.Token' } })
  expect(park).toHaveProperty('ResultPath', null)
  expect(park?.Catch).toContainEqual({ ErrorEquals: ['States.Timeout'], ResultPath: '$.error', Next: 'Decide' })
  expect(park?.Retry?.flatMap((retrier) => retrier.ErrorEquals)).not.toContain('States.Timeout')
})

test('the ends are what they say', () => {
  expect(asl.States['Done']?.Type).toBe('Succeed')
  expect(asl.States['Stale']?.Type).toBe('Succeed')
  expect(asl.States['Failed']).toMatchObject({ Type: 'Fail', Error: 'RunFailed' })
})
