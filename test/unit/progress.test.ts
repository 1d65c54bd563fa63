import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Progress, type ProgressOptions, type TurnFacts } from '../../bin/terminal/progress.ts'
import type { EngineEvent } from '../../lib/local/engine-events.ts'

const facts: TurnFacts = { round: 0, mode: 'started', raised: 3, fixed: 1, open: 2 }
const at = { execution: 'r-1', at: 0 }
const entered = (state: string, round = 0): EngineEvent => ({ ...at, kind: 'entered', state, input: { round } })
const left = (state: string, milliseconds: number, round = 0): EngineEvent => ({
  ...at,
  kind: 'left',
  state,
  output: { round },
  milliseconds,
})

const make = (isTTY: boolean, more: Partial<ProgressOptions> = {}) => {
  let text = ''
  const screen = { isTTY, columns: 60, write: (part: string) => (text += part) }
  const progress = new Progress({ screen, env: { NO_COLOR: '1' }, factsOf: async () => facts, ...more })
  return { progress, text: () => text }
}

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

describe('where it is no terminal', () => {
  test('a line for each state that ended: round, time, findings; no control characters', async () => {
    const { progress, text } = make(false)
    for (const event of [
      entered('Route'),
      left('Route', 0),
      entered('Prepare'),
      left('Prepare', 320),
      entered('Review'),
      left('Review', 1234),
      entered('Fix', 1),
      left('Fix', 65_000, 1),
    ])
      progress.onEvent(event)
    await progress.stop()
    expect(
      text()
        .split('\n')
        .map((line) => line.replace(/ +/g, ' ')),
    ).toEqual([
      ' Prepare 320 ms',
      ' Review round 0 1.2 s started 3 found, 1 fixed, 2 open',
      ' Fix round 0 1 min 05 s started 3 found, 1 fixed, 2 open',
      '',
    ])
    expect(text()).not.toMatch(/[\u001b\r]/)
  })
  test('a sign of life after two seconds, then every ten, with the latest message', async () => {
    const { progress, text } = make(false)
    progress.onEvent(entered('Review', 2))
    await vi.advanceTimersByTimeAsync(1900)
    expect(text()).toBe('')
    progress.onEvent({ ...at, kind: 'progress', state: 'Review', message: 'src/\u001b[31ma.ts\nx' })
    await vi.advanceTimersByTimeAsync(600)
    expect(text()).toMatch(/^ {2}… Review, round 2: 2\.\d s, src\/\[31ma\.ts x\n$/)
    await vi.advanceTimersByTimeAsync(9000)
    expect(text().split('\n')).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(1500)
    expect(text().split('\n')).toHaveLength(3)
    progress.onEvent(left('Review', 13_000, 2))
    await vi.advanceTimersByTimeAsync(60_000)
    expect(text().split('\n')).toHaveLength(4)
    await progress.stop()
  })
  test('retries and failures are told; what passes in between is not', async () => {
    const { progress, text } = make(false)
    progress.onEvent(entered('Prepare'))
    progress.onEvent({ ...at, kind: 'failed', state: 'Prepare', error: 'FetchFailed', cause: 'x' })
    progress.onEvent({ ...at, kind: 'retried', state: 'Prepare', error: 'FetchFailed', attempt: 1 })
    progress.onEvent({ ...at, kind: 'caught', state: 'Prepare', error: 'FetchRefused' })
    await progress.stop()
    expect(text()).toBe('  Prepare is tried again (1): FetchFailed\n  Prepare failed: FetchRefused\n')
  })
  test('lines keep their order even where the facts of the first come last', async () => {
    const waits = [50, 0]
    const { progress, text } = make(false, {
      factsOf: async () => {
        await new Promise((resolve) => setTimeout(resolve, waits.shift()))
        return facts
      },
    })
    progress.onEvent(left('Review', 1))
    progress.onEvent(left('Fix', 2, 1))
    const stopped = progress.stop()
    await vi.advanceTimersByTimeAsync(100)
    await stopped
    expect(text().indexOf('Review')).toBeLessThan(text().indexOf('Fix'))
  })
  test('facts that cannot be had cost nothing but themselves', async () => {
    const { progress, text } = make(false, { factsOf: () => Promise.reject(new Error('gone')) })
    progress.onEvent(left('Review', 5))
    await progress.stop()
    expect(text()).toContain('Review')
    expect(text()).not.toContain('found')
  })
})

describe('on a terminal', () => {
  test('one line is drawn again and again within the width, and is gone at the end', async () => {
    const { progress, text } = make(true)
    progress.onEvent(entered('Review', 1))
    progress.onEvent({ ...at, kind: 'progress', state: 'Review', message: 'x'.repeat(200) })
    await vi.advanceTimersByTimeAsync(1000)
    const drawn = text().split('\r\u001b[2K')
    expect(drawn.length).toBeGreaterThan(5)
    for (const line of drawn) expect(line.length).toBeLessThan(60)
    expect(text()).not.toContain('\n')
    progress.onEvent(left('Review', 1000, 1))
    await progress.stop()
    expect(text().split('\r\u001b[2K').at(-1)).toMatch(/^ {2}Review .*2 open\n$/)
  })
})
