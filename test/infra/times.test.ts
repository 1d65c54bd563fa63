/** Times that have to fit into each other: agent, function, task, lease, park. */
import { describe, expect, test } from 'vitest'
import { checkTimes, SIZES, taskTimeout } from '../../lib/infra/functions.ts'
import { policy } from '../../lib/loop/policy.ts'
import { loopPolicy } from '../../lib/loop/run.ts'
import { LEASE_SKEW_MS } from '../../lib/loop/turns.ts'
import { MAX_PARK_DAYS, MAX_TURN_MINUTES, RETRIERS, type Retrier, STATE_OF_ROLE, TASK_STATES } from '../../lib/names.ts'

const waits = ({ seconds, rate, longest, attempts }: Retrier): number =>
  Array.from({ length: attempts }, (_, n) => Math.min(longest, seconds * rate ** n)).reduce((sum, wait) => sum + wait, 0)

const DAY = 24 * 3600

describe('agent budget < Lambda time-out < task time-out', () => {
  test('holds', () => {
    expect(() => checkTimes()).not.toThrow()
    for (const state of Object.values(STATE_OF_ROLE)) {
      expect(MAX_TURN_MINUTES * 60).toBeLessThan(SIZES[state].timeout)
      expect(SIZES[state].timeout).toBeLessThan(taskTimeout(state))
    }
  })

  test.each([
    ['an agent that may take longer than its function', () => checkTimes(SIZES, undefined, 15 * 60), /Review: an agent may take 900 s/],
    [
      'a function that outlives its task',
      () => checkTimes(SIZES, Object.fromEntries(TASK_STATES.map((state) => [state, 600])) as never),
      /Prepare: the task is given up after 600 s/,
    ],
    ['more than Lambda allows', () => checkTimes({ ...SIZES, Close: { ...SIZES.Close, timeout: 901 } }), /Close: Lambda allows 900 s/],
  ])('%s is refused at synth', (_, check, message) => {
    expect(check).toThrow(message)
  })

  test('a policy cannot ask for a longer turn than the functions have', () => {
    const turn = (minutes: number) => policy.safeParse({ limits: { turn_minutes: minutes } }).success
    expect([turn(MAX_TURN_MINUTES), turn(MAX_TURN_MINUTES + 1)]).toEqual([true, false])
  })
})

describe('TurnBusy', () => {
  const busy = RETRIERS.find((retrier) => retrier.errors.includes('TurnBusy'))

  test('is retried for longer than any lease lasts', () => {
    // A lease ends with the function that took it, plus the skew of clocks.
    const longest = Math.max(...Object.values(STATE_OF_ROLE).map((state) => SIZES[state].timeout))
    expect(busy && waits(busy)).toBeGreaterThan(longest + LEASE_SKEW_MS / 1000 + 60)
  })

  test('is retried past the leases of all workers that a state may lose one after the other', () => {
    const longest = Math.max(...Object.values(STATE_OF_ROLE).map((state) => SIZES[state].timeout))
    const lost = RETRIERS.find((retrier) => retrier.errors.includes('Lambda.Unknown'))
    expect(busy && waits(busy)).toBeGreaterThan(((lost?.attempts ?? 0) + 1) * (longest + LEASE_SKEW_MS / 1000) + 60)
  })

  test('is not spread: a wait drawn at random may be none', () => {
    expect(busy?.spread).toBe(false)
  })
})

describe('Park', () => {
  const accepted = (askSeconds: number) =>
    loopPolicy.safeParse({ rounds: 3, certify: 'auto', ask: 'always', continuations: 1, askSeconds }).success

  test('is bounded, in the state that its time-out is taken from', () => {
    expect([accepted(MAX_PARK_DAYS * DAY), accepted(MAX_PARK_DAYS * DAY + 1), accepted(0)]).toEqual([true, false, false])
    expect(MAX_PARK_DAYS).toBeLessThanOrEqual(24)
  })

  test('in every round, as long as may be, still ends within the year that an execution may last', () => {
    const rounds = 10
    expect(policy.safeParse({ rounds: rounds + 1 }).success).toBe(false)
    expect((rounds + 1) * MAX_PARK_DAYS).toBeLessThan(365)
  })
})
