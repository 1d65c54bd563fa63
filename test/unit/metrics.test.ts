/** Metrics: what is said of what happened, in the format that CloudWatch reads out of a log. */
import { afterEach, describe, expect, test, vi } from 'vitest'
import { close } from '../../lib/loop/close.ts'
import { decide, decideRun } from '../../lib/loop/decide.ts'
import type { Happening } from '../../lib/loop/happening.ts'
import { isToBeResumed } from '../../lib/loop/attachment.ts'
import { park } from '../../lib/loop/park.ts'
import { watch } from '../../lib/loop/watch.ts'
import { takeTurn } from '../../lib/loop/turns.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import { metricLine, metricsOf, sayHappening } from '../../lib/runtime/metrics.ts'
import { ENV, MAX_PARK_DAYS, METRICS, OUTCOMES, THROTTLES, TURN_ROLES } from '../../lib/names.ts'
import { invocationOf, makePorts, policyOf, RUN_ID, stateOf, turnRecordOf } from '../support/ports.ts'
import { aFinding, afterReview, aRun } from '../support/runs.ts'
import type { RunItem } from '../../lib/loop/items.ts'

const USAGE = { input: 1200, output: 300, cacheRead: 900, cacheWrite: null, dollars: null, calls: 4 }
const record = turnRecordOf({
  role: 'fixer',
  turn: 2,
  mode: 'fallback',
  usage: USAGE,
  startedAt: '2026-01-05T09:00:00.000Z',
  endedAt: '2026-01-05T09:01:30.500Z',
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

describe('a line', () => {
  test('is in the embedded metric format: names and units of the table, one dimension, the run as a property', () => {
    const { values, of = '' } = metricsOf({ kind: 'turn', runId: RUN_ID, record, anew: false })
    const line = JSON.parse(metricLine('reviewloop/prod', values, { of, runId: RUN_ID, now: 1_700_000_000_000 }) ?? '') as Record<
      string,
      unknown
    >
    const { _aws, ...facts } = line as { _aws: { Timestamp: number; CloudWatchMetrics: [{ Metrics: { Name: keyof typeof METRICS }[] }] } }
    const { Metrics, ...directive } = _aws.CloudWatchMetrics[0]
    expect(_aws.Timestamp).toBe(1_700_000_000_000)
    expect(directive).toEqual({ Namespace: 'reviewloop/prod', Dimensions: [['Role']] })
    expect(Metrics).toEqual(Metrics.map(({ Name }) => ({ Name, Unit: METRICS[Name].unit })))
    expect(facts).toEqual({
      Role: 'fixer',
      Turns: 1,
      TurnsFellBack: 1,
      TurnsCold: 0,
      TurnsAtLimit: 0,
      TurnTime: 90.5,
      AgentCalls: 4,
      TokensIn: 1200,
      TokensFromCache: 900,
      TokensOut: 300,
      runId: RUN_ID,
    })
  })

  test('says nothing of what is not known, and is none where nothing is', () => {
    expect(metricLine('n', { Dollars: null, Turns: 1 }, { of: 'fixer', now: 0 })).not.toContain('Dollars')
    expect(metricLine('n', { Dollars: null }, { of: 'fixer', now: 0 })).toBeNull()
    expect(metricLine('n', { Dollars: 0 }, { of: 'fixer', now: 0 })).toContain('"Dollars":0')
  })

  test('takes values of one dimension alone', () => {
    expect(() => metricLine('n', { Turns: 1, RunsEnded: 1 }, { of: 'fixer', now: 0 })).toThrow('no one dimension')
    expect(() => metricLine('n', { Turns: 1 }, { now: 0 })).toThrow('no one dimension')
    expect(() => metricLine('n', { RunsParked: 1 }, { of: 'fixer', now: 0 })).toThrow('no one dimension')
  })
})

const HAPPENINGS: readonly Happening[] = [
  ...TURN_ROLES.map((role): Happening => ({
    kind: 'turn',
    runId: RUN_ID,
    record: { ...record, role, usage: { ...USAGE, dollars: 1 } },
    anew: true,
  })),
  { kind: 'parked', runId: RUN_ID },
  { kind: 'answered', runId: RUN_ID, waitedMs: 5000 },
  ...OUTCOMES.map((outcome): Happening => ({
    kind: 'ended',
    runId: RUN_ID,
    verdict: { outcome, reason: 'clean', by: null, error: null },
    tookMs: 1,
  })),
  { kind: 'watched', atWork: 1, waiting: 0, longestAtWorkMs: 2000, longestWaitingMs: 0, oldestMs: 3000 },
]

test('every metric of the table is said by something that happens, or by an error, and all of it can be said', () => {
  const said = HAPPENINGS.flatMap((what) => {
    const { values, ...of } = metricsOf(what)
    expect(metricLine('n', values, { ...of, now: 0 })).not.toBeNull()
    return Object.keys(values)
  })
  expect([...new Set([...said, 'Throttles'])].toSorted()).toEqual(Object.keys(METRICS).toSorted())
})

/** Lines that a function writes. */
const written = (): string[] => {
  const lines: string[] = []
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    lines.push(String(text))
    return true
  })
  return lines
}

test('a function writes a line of its own to its log, where a namespace is named', () => {
  const lines = written()
  sayHappening({ kind: 'parked', runId: RUN_ID })
  expect(lines).toEqual([])
  vi.stubEnv(ENV.metrics, 'reviewloop/test')
  sayHappening({ kind: 'parked', runId: RUN_ID })
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([expect.objectContaining({ RunsParked: 1, runId: RUN_ID })])
  expect(lines[0]?.endsWith('}\n')).toBe(true)
})

test.each(THROTTLES)('%s is counted where it ends an invocation, with its run; other errors are not', async (name) => {
  const lines = written()
  vi.stubEnv(ENV.metrics, 'reviewloop/test')
  const failing = async (error: LoopError) => {
    const call = lambda(async () => {
      throw error
    })
    await expect(call({ runId: RUN_ID }, { getRemainingTimeInMillis: () => 20_000 })).rejects.toThrow(error.message)
  }
  await failing(new LoopError(name))
  await failing(new LoopError('AgentFailed'))
  const metrics = lines.filter((line) => line.includes('_aws'))
  expect(metrics.map((line) => JSON.parse(line) as object)).toEqual([expect.objectContaining({ Throttles: 1, Error: name, runId: RUN_ID })])
})

describe('what happened is told once', () => {
  test('a turn by the worker that finished it, not by the retry that finds it done, nor by one that comes too late', async () => {
    const ports = makePorts()
    const state = stateOf()
    const work = async () => ({
      state: { ...state, turn: 1 },
      record: turnRecordOf({ turn: 1 }),
      session: null,
      checkpoint: null,
      toBeResumed: false,
    })
    const take = (inTurn = work) => takeTurn(ports, { role: 'reviewer', state, invocation: invocationOf(ports), work: inTurn })
    await take()
    await take()
    expect(ports.effects.happenings).toEqual([{ kind: 'turn', runId: RUN_ID, record: turnRecordOf({ turn: 1 }), anew: false }])

    const late = makePorts()
    const second = () => takeTurn(late, { role: 'reviewer', state, invocation: invocationOf(late), work })
    const first = takeTurn(late, {
      role: 'reviewer',
      state,
      invocation: invocationOf(late),
      work: async () => {
        // Its lease is over, and another worker takes the turn and finishes it.
        late.effects.advance(3_600_000)
        await second()
        return work()
      },
    })
    await first.catch(() => undefined)
    expect(late.effects.happenings.length).toBe(1)
  })

  test.each([
    ['started', true, true],
    ['cold', true, true],
    ['resumed', true, false],
    ['fallback', true, false],
    ['started', false, false],
  ] as const)('a turn that %s while a session was to be resumed (%s) began anew: %s', async (mode, toBeResumed, anew) => {
    const ports = makePorts()
    const state = stateOf()
    const work = async () => ({
      state: { ...state, turn: 1 },
      record: turnRecordOf({ turn: 1, mode }),
      session: null,
      checkpoint: null,
      toBeResumed,
    })
    await takeTurn(ports, { role: 'reviewer', state, invocation: invocationOf(ports), work })
    expect(ports.effects.happenings).toMatchObject([{ anew }])
  })

  test('a session is to be resumed where the role had a turn and its session outlives it', () => {
    const done = { turn: 1, state: stateOf(), record: turnRecordOf({ turn: 1, round: 1 }) }
    const asked = (role: (typeof TURN_ROLES)[number], settings: object, item: { done: typeof done | null } = { done }, cycle = 1) =>
      isToBeResumed(role, policyOf(settings), item, cycle)
    expect(asked('reviewer', {})).toBe(true)
    expect(asked('fixer', {}, { done }, 2)).toBe(true)
    expect(asked('fixer', { sessions: { fixer: 'cycle' } })).toBe(true)
    expect(asked('fixer', { sessions: { fixer: 'cycle' } }, { done }, 2)).toBe(false)
    expect(asked('reviewer', { sessions: { reviewer: 'turn' } })).toBe(false)
    expect(asked('reviewer', { session_reuse: false })).toBe(false)
    expect(asked('reviewer', {}, { done: null })).toBe(false)
    expect(asked('certifier', {})).toBe(false)
  })

  test('a run parks, is answered and ends, each once however often its state is entered', async () => {
    const ports = makePorts()
    const { run, state } = await aRun(ports)
    const { runId } = run
    const parked = await afterReview(ports, state, { findings: [aFinding()] })
    await park(ports, parked, 'token')
    await park(ports, parked, 'token-2')
    ports.effects.advance(90_000)
    await decideRun(ports, runId, { answer: { kind: 'approve' }, by: 'ada' })
    await decide(ports, parked)
    const after = await decide(ports, parked)
    const closing = { ...after, verdict: { outcome: 'approved', reason: 'by-person', by: 'ada', error: null } as const }
    await close(ports, closing)
    await close(ports, closing)
    expect(ports.effects.happenings).toEqual([
      { kind: 'parked', runId },
      { kind: 'answered', runId, waitedMs: 90_000 },
      { kind: 'ended', runId, verdict: closing.verdict, tookMs: expect.any(Number) as number },
    ])
  })
})

describe('a look at how things stand', () => {
  const at = (ms: number): string => new Date(ms).toISOString()
  const id = (n: number): string => `r-${String(n).padStart(16, '0')}`
  const runOf = async (change: Partial<RunItem>): Promise<RunItem> => ({ ...(await aRun(makePorts())).run, ...change })

  test('counts what has not ended, and says since when the longest of each is as it is', async () => {
    const ports = makePorts()
    const now = ports.effects.now()
    const hours = (n: number): string => at(now - n * 3_600_000)
    const runs = [
      { status: 'running', createdAt: hours(9), updatedAt: hours(1) },
      { status: 'running', createdAt: hours(3), updatedAt: hours(3) },
      { status: 'parked', createdAt: hours(30), updatedAt: hours(20) },
      { status: 'ended', createdAt: hours(500), updatedAt: hours(400) },
    ] as const
    for (const [index, run] of runs.entries()) await ports.runs.runs.write(id(index), await runOf({ runId: id(index), rev: 1, ...run }))
    const hour = 3_600_000
    expect(await watch(ports)).toEqual({ atWork: 2, waiting: 1 })
    expect(ports.effects.happenings).toEqual([
      { kind: 'watched', atWork: 2, waiting: 1, longestAtWorkMs: 3 * hour, longestWaitingMs: 20 * hour, oldestMs: 30 * hour },
    ])
  })

  test('says that there is nothing, which is not the same as saying nothing', async () => {
    const ports = makePorts()
    await watch(ports)
    expect(ports.effects.happenings).toEqual([
      { kind: 'watched', atWork: 0, waiting: 0, longestAtWorkMs: 0, longestWaitingMs: 0, oldestMs: 0 },
    ])
  })

  test('reads on while there are pages, and stops at runs that began before its horizon', async () => {
    const ports = makePorts()
    const now = ports.effects.now()
    const run = (n: number, days: number) => runOf({ runId: id(n), status: 'running', createdAt: at(now - days * 86_400_000) })
    const pages = [[await run(1, 1)], [], [await run(2, 2)], [await run(3, 2 * MAX_PARK_DAYS + 1)], [await run(4, 80)]]
    let read = 0
    ports.runs.page = async () => ({ runs: pages[read++] ?? [], next: read < pages.length ? String(read) : null })
    expect(await watch(ports)).toEqual({ atWork: 3, waiting: 0 })
    expect(read).toBe(4)
  })
})
