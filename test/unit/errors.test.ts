import { describe, expect, test } from 'vitest'
import { asLoopError, type ErrorName, ERRORS, errorsOfClass, isErrorName, LoopError } from '../../lib/loop/errors.ts'
import { errorsPage } from '../../lib/loop/errors-page.ts'

const names = Object.keys(ERRORS) as ErrorName[]

describe('the catalogue', () => {
  test.each(names)('%s says what happened and what to do, and has a status', (name) => {
    const { meaning, remedy, http } = ERRORS[name]
    expect(meaning).toMatch(/^(?:[A-Z]|git ).*\.$/s)
    expect(remedy).toMatch(/^[A-Z].*\.$/s)
    expect(http).toBeGreaterThanOrEqual(400)
    expect(http).toBeLessThan(600)
  })

  test('puts every error in one class', () => {
    const classes = (['transient', 'service', 'user', 'stale'] as const).flatMap(errorsOfClass)
    expect(classes.toSorted()).toEqual(names.toSorted())
  })

  test('knows its names and no others', () => {
    expect(isErrorName('TurnBusy')).toBe(true)
    expect(isErrorName('toString')).toBe(false)
  })
})

describe('an error', () => {
  test('is named for its row, so that Retry and Catch find it', () => {
    const error = new LoopError('TurnBusy', 'Busy until noon.', { until: 12 })
    expect(error).toMatchObject({ name: 'TurnBusy', message: 'Busy until noon.', details: { until: 12 }, entry: ERRORS.TurnBusy })
    expect(new LoopError('TurnBusy').message).toBe(ERRORS.TurnBusy.meaning)
  })

  test.each([new TypeError('x is not a function'), 'x is not a function'])('of no row is Unexpected: %s', (thrown) => {
    expect(asLoopError(thrown)).toMatchObject({ name: 'Unexpected', message: 'x is not a function', cause: thrown })
  })

  test('of a row stays as it is', () => {
    const error = new LoopError('TurnBusy')
    expect(asLoopError(error)).toBe(error)
  })
})

test('the page has a row for every error, under the heading of its class', () => {
  const page = errorsPage()
  const rows = page.split('\n').filter((line) => line.startsWith('| `'))
  expect(rows.map((row) => /`(\w+)`/.exec(row)?.[1] ?? '').toSorted()).toEqual(names.toSorted())
  expect(rows.every((row) => row.split(/(?<!\\)\|/).length === 6)).toBe(true)
  expect(page.indexOf('TurnBusy')).toBeGreaterThan(page.indexOf('## Retried'))
  expect(page.indexOf('TurnBusy')).toBeLessThan(page.indexOf('## Faults'))
})
