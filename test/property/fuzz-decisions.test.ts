/** Whatever is sent as a decision: recorded whole, or refused under a name of the catalogue, and then nothing has changed. */
import * as fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { decideRun } from '../../lib/loop/decide.ts'
import { answer as answerSchema, type Answer } from '../../lib/loop/decision.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import { checkFindings } from '../../lib/loop/findings.ts'
import { applyDecision } from '../../lib/loop/ledger.ts'
import { park } from '../../lib/loop/park.ts'
import { emptyRecord, runRecord } from '../../lib/loop/record.ts'
import { scaled } from '../support/hostile.ts'
import { makePorts } from '../support/ports.ts'
import { aFinding, afterReview, aRun } from '../support/runs.ts'

// A guard against hanging, and nothing else.
vi.setConfig({ testTimeout: 600_000 })

const OPEN = ['f-0000000001', 'f-0000000002']
const findings = OPEN.map(aFinding)

const parked = async () => {
  const ports = makePorts()
  const { run, state } = await aRun(ports)
  await park(ports, await afterReview(ports, state, { findings }), 'token-1')
  return { ports, runId: run.runId }
}

const id = fc.oneof(fc.constantFrom(...OPEN, 'f-0000000003', '', '__proto__', 'constructor'), fc.string({ maxLength: 20 }))
const place = fc.constantFrom('a.js', '../x', '/etc/passwd', '.git/config', 'a\0b', '\u202e', 'x'.repeat(4096))
const fitting = fc.record(
  {
    kind: fc.constant('fix'),
    findings: fc.array(id, { maxLength: 4 }),
    decline: fc.array(id, { maxLength: 3 }),
    note: fc.string({ maxLength: 40 }),
    notes: fc.dictionary(id, fc.string({ maxLength: 20 }), { maxKeys: 3 }),
    add: fc.array(
      fc.record({ rule: fc.constant('r'), severity: fc.constantFrom('error', 'note'), file: place, text: fc.string({ maxLength: 9 }) }),
      { maxLength: 2 },
    ),
  },
  { requiredKeys: ['kind'] },
)
const anything = fc.oneof(
  { weight: 4, arbitrary: fitting },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('approve', 'skip', 'abort', 'expired', 'fixed', '__proto__') }) },
  { weight: 1, arbitrary: fc.anything({ maxDepth: 3 }) },
)

const NAMES = ['BadDecision', 'RoundsUsedUp', 'StaleDecision']
const sent = async (given: unknown): Promise<{ error: unknown; kept: boolean }> => {
  const { ports, runId } = await parked()
  const before = structuredClone(ports.runs.runItems.get(runId))
  let error: unknown = null
  try {
    await decideRun(ports, runId, { answer: given as Answer, by: 'ada' })
  } catch (thrown) {
    error = thrown
    expect(ports.runs.runItems.get(runId)).toEqual(before)
    expect(ports.executions.woken).toEqual([])
  }
  const { decision } = ports.runs.runItems.get(runId) ?? {}
  return { error, kept: decision !== null && answerSchema.safeParse(decision?.answer).success }
}

const expectTyped = (error: unknown): void => {
  expect(error).toBeInstanceOf(LoopError)
  expect(NAMES).toContain((error as LoopError).name)
  expect((error as LoopError).message.length).toBeLessThan(1000)
}

test('anything as an answer is recorded, or refused by name with nothing changed', async () => {
  const seen = { kept: 0, refused: 0 }
  await fc.assert(
    fc.asyncProperty(anything, async (given) => {
      const { error, kept } = await sent(given)
      if (error !== null) expectTyped(error)
      expect(kept).toBe(error === null)
      seen[kept ? 'kept' : 'refused']++
    }),
    { numRuns: scaled(500, 20_000) },
  )
  expect(Math.min(seen.kept, seen.refused)).toBeGreaterThan(10)
})

test('megabytes as an answer are refused in a line', async () => {
  const many = <T>(one: T, count: number): T[] => Array.from({ length: count }, () => one)
  const long = 'x'.repeat(1_000_000)
  for (const given of [
    { kind: 'approve', [long]: 1 },
    { kind: long },
    { kind: 'fix', findings: many('f-0000000001', 100_000) },
    { kind: 'fix', findings: many(long.slice(0, 10_000), 1000) },
    { kind: 'fix', findings: OPEN, decline: many('f-0000000003', 900) },
    { kind: 'fix', findings: OPEN, notes: Object.fromEntries(many(0, 20_000).map((_, index) => [`n${index}`, 'note'])) },
    { kind: 'fix', findings: OPEN, note: long },
    { kind: 'fix', findings: OPEN, add: many({ rule: 'r', severity: 'error', file: 'a.js', text: long }, 50) },
    { kind: 'fix', findings: OPEN, add: many({ rule: long, severity: long, file: long, text: '' }, 1000) },
  ]) {
    const { error } = await sent(given)
    expectTyped(error)
  }
})

test('a decision that was taken makes a valid record of a valid one', () => {
  const lineText = () => null
  fc.assert(
    fc.property(fitting, (given) => {
      const answer = answerSchema.safeParse(given)
      if (!answer.success || answer.data.kind !== 'fix') return
      const fix = answer.data
      const added = checkFindings(fix.add, { diff: [], files: new Set(['a.js']), lineText }).findings
      const decision = { question: 'q1', answer: fix, by: 'ada', at: '2026-01-05T09:00:00.000Z' }
      try {
        const after = applyDecision({ ...emptyRecord(), findings }, decision, { turn: 2, round: 1, addedFindings: added })
        expect(runRecord.safeParse(JSON.parse(JSON.stringify(after))).error).toBeUndefined()
        // Nothing leaves the set, and what was declined is no longer open.
        expect(after.findings.slice(0, 2).map((one) => one.id)).toEqual(OPEN)
        expect(after.findings.filter((one) => fix.decline.includes(one.id)).every((one) => one.status === 'declined')).toBe(true)
      } catch (error) {
        expectTyped(error)
      }
    }),
    { numRuns: scaled(500, 20_000) },
  )
})
