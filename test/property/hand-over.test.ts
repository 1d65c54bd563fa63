/** What a session is told that begins in the middle of a run, made of records of any history: never a word of the other role. */
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import type { HandOver } from '../../lib/loop/agent.ts'
import { handOver } from '../../lib/loop/hand-over.ts'
import { applyDecision, applyFix, applyReview } from '../../lib/loop/ledger.ts'
import { turnPrompt } from '../../lib/loop/prompts/turn-prompt.ts'
import { emptyRecord, type RunRecord } from '../../lib/loop/record.ts'
import { fixTask, reviewTask } from '../support/agent-turn.ts'
import { aFinding } from '../support/findings.ts'
import { fileDiff } from '../support/memory-files.ts'
import { turnRecordOf } from '../support/ports.ts'

const RUNS = process.env['REVIEWLOOP_LONG'] ? 5000 : 300
const SAID = { reviewer: 'the-reviewer-said', fixer: 'the-fixer-said', certifier: 'the-certifier-said', person: 'a-person-said' } as const
const IDS = ['1', '2', '3', '4']
const idOf = (digit: string): string => `f-${digit.repeat(10)}`

const some = fc.subarray(IDS)
const step = fc.oneof(
  fc.record({
    kind: fc.constant('review' as const),
    role: fc.constantFrom('reviewer' as const, 'certifier' as const),
    raised: some,
    accounted: fc.array(fc.tuple(fc.constantFrom(...IDS), fc.constantFrom('open' as const, 'fixed' as const, 'withdrawn' as const))),
  }),
  fc.record({ kind: fc.constant('fix' as const), given: some, notFixed: some, commits: fc.boolean() }),
  fc.record({ kind: fc.constant('decide' as const), decline: some, fix: some }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

const take = (record: RunRecord, one: Step, turn: number): RunRecord => {
  const at = { turn, round: turn }
  const said = (role: 'reviewer' | 'fixer' | 'certifier'): RunRecord => ({
    ...record,
    turns: [...record.turns, turnRecordOf({ role, turn, summary: SAID[role], why: SAID[role] })],
  })
  if (one.kind === 'review') {
    const accounts = one.accounted.map(([digit, status]) => ({ id: idOf(digit), status, note: `${SAID[one.role]} ${turn}` }))
    const findings = one.raised.map((digit) => aFinding(digit, { file: 'a.ts' }))
    return applyReview(said(one.role), { ...at, role: one.role, findings, accounts, given: [] })
  }
  if (one.kind === 'fix') {
    const given = one.given.map(idOf)
    const results = given.map((id) => {
      const status = one.notFixed.some((digit) => idOf(digit) === id) ? ('not-fixed' as const) : ('fixed' as const)
      return { id, status, note: `${SAID.fixer} ${turn}` }
    })
    const commit = { id: 'c'.repeat(40), turn, round: turn, message: SAID.fixer, files: ['a.ts'], outside: [], findings: given }
    return applyFix(said('fixer'), { ...at, given, results, commit: one.commits ? commit : null })
  }
  const open = new Set(record.findings.filter(({ status }) => status === 'open').map(({ id }) => id))
  const decline = one.decline.map(idOf).filter((id) => open.has(id))
  const findings = one.fix.map(idOf).filter((id) => open.has(id) && !decline.includes(id))
  const answer = { kind: 'fix' as const, findings, decline, notes: {}, add: [], note: SAID.person }
  const decision = { question: `q${turn}`, answer, by: 'ada', at: '2026-01-01T00:00:00.000Z' }
  return applyDecision(record, decision, { ...at, addedFindings: [] })
}

/** The hand-over, and the whole prompt that is made of it. */
const toldTo = (record: RunRecord, role: 'reviewer' | 'fixer'): { told: HandOver | null; text: string } => {
  const told = handOver(record, { role, round: 9 })
  const diff = [fileDiff('a.ts', 'a\n', 'b\n')]
  const open = record.findings.filter(({ status }) => status === 'open')
  const task =
    role === 'fixer'
      ? fixTask(diff, open, { handOver: told })
      : { ...reviewTask(diff, open, 're-review'), declined: told?.declined ?? [], handOver: told }
  const { parts } = turnPrompt(task, { runId: 'r-0123456789abcdef', turn: 9, budget: { part: 100_000, parts: 1 } })
  return { told, text: parts.map((part) => part.text).join() }
}

test('holds what is open, tried and declined of every history, and none of the other role’s words', () => {
  const seen = { own: 0, persons: 0 }
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
      const record = steps.reduce((before, one, index) => take(before, one, index + 1), emptyRecord())
      for (const [role, others] of [
        ['reviewer', [SAID.fixer]],
        ['fixer', [SAID.reviewer, SAID.certifier]],
      ] as const) {
        const { told, text } = toldTo(record, role)
        for (const other of others) {
          expect(JSON.stringify(told)).not.toContain(other)
          expect(text).not.toContain(other)
        }
        if (text.includes(SAID[role])) seen.own += 1
        if (text.includes(SAID.person)) seen.persons += 1
        if (!told) continue
        const withStatus = (status: string) => record.findings.filter((found) => found.status === status).map(({ id }) => id)
        expect(told.outstanding.map(({ id }) => id)).toEqual(withStatus('open'))
        expect(told.declined.map(({ id }) => id)).toEqual(withStatus('declined'))
        const worked = record.findings.filter(({ history }) =>
          history.some(({ event }) => event === 'given-to-fixer' || event === 'not-fixed'),
        )
        expect([...new Set(told.tried.map(({ id }) => id))]).toEqual(worked.map(({ id }) => id))
      }
    }),
    { numRuns: RUNS },
  )
  // the words are there to be found: a role's own are told, and a person's
  expect(seen.own).toBeGreaterThan(0)
  expect(seen.persons).toBeGreaterThan(0)
})
