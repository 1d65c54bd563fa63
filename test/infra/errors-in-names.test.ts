/** infra/ sees the error catalogue only through names.ts: the two must say the same. */
import { expect, test } from 'vitest'
import { errorsOfClass, isErrorName } from '../../lib/loop/errors.ts'
import { RETRIERS, STALE_ERRORS } from '../../lib/names.ts'

const ofServices = /^(States|Lambda|Sandbox|Runtime)\./

test('what is retried is the transient class of the catalogue, and faults of Lambda', () => {
  const named = RETRIERS.flatMap((retrier) => retrier.errors)
  const rows = named.filter((error) => !ofServices.test(error))
  expect(rows.toSorted()).toEqual(errorsOfClass('transient').toSorted())
  expect(rows.every(isErrorName)).toBe(true)
  expect(new Set(named).size).toBe(named.length)
})

test('what ends silently is the stale class', () => {
  expect([...STALE_ERRORS].toSorted()).toEqual(errorsOfClass('stale').toSorted())
})
