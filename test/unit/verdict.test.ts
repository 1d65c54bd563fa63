import { describe, expect, test } from 'vitest'
import type { TurnRole } from '../../lib/names.ts'
import type { Decision } from '../../lib/loop/decision.ts'
import type { TurnItem } from '../../lib/loop/items.ts'
import { advance } from '../../lib/loop/next-step.ts'
import { makeQuestion } from '../../lib/loop/question.ts'
import type { LastStep, OpenCounts, RunState } from '../../lib/loop/run.ts'
import { questionId, verdictFromItems } from '../../lib/loop/verdict.ts'
import { aRecord, aRun, aTurn } from '../support/report.ts'
import { aRunState } from '../support/run-state.ts'

const HEAD = 'a'.repeat(40)
const FIXED = 'c'.repeat(40)

/** An item whose finished turn led to the state that `advance` gives after `last`. */
const item = (role: TurnRole, turn: number, last: LastStep, state: Partial<RunState> = {}): TurnItem => ({
  runId: 'r-0123456789abcdef',
  role,
  rev: 1,
  nonce: 'n',
  epoch: 1,
  fence: 1,
  closed: false,
  session: null,
  checkpoint: null,
  done: { turn, state: advance(aRunState('Review', { turn, ...state }), last), record: aTurn(turn, { role }) },
  running: null,
  failed: null,
  fingerprints: [],
  ttl: 0,
})
const looked = (step: 'Review' | 'Certify', open: Partial<OpenCounts> = {}): LastStep => ({
  step,
  ended: 'done',
  open: { autoFix: 0, other: 0, stuck: 0, ...open },
  limit: null,
})
const fixed: LastStep = { step: 'Fix', ended: 'done', commits: 1, limit: null }
const decided = (question: string, answer: Decision['answer'], by: string | null = 'ada') =>
  aRun({ decision: { question, answer, by, at: '2026-01-01T00:00:00.000Z' } })

const verdictOf = (items: Partial<Record<TurnRole, TurnItem>>, run = aRun()) =>
  verdictFromItems({ reviewer: null, fixer: null, certifier: null, ...items, run })
const approved = (reason: string, by: string | null = null) => ({ outcome: 'approved', reason, by, error: null })

describe('the verdict of the items', () => {
  test('is none before a turn has finished', () => {
    expect(verdictOf({})).toBeNull()
  })

  test("is the reviewer's where nothing was fixed", () => {
    expect(verdictOf({ reviewer: item('reviewer', 1, looked('Review')) })).toEqual(approved('clean'))
  })

  test("is the certifier's on the commit that it looked at", () => {
    const items = {
      reviewer: item('reviewer', 3, looked('Review'), { commit: FIXED }),
      fixer: item('fixer', 2, fixed, { commit: FIXED }),
      certifier: item('certifier', 4, looked('Certify'), { commit: FIXED }),
    }
    expect(verdictOf(items)).toEqual(approved('certified'))
    expect(verdictOf({ ...items, certifier: item('certifier', 4, looked('Certify', { other: 1 }), { commit: FIXED }) })).toBeNull()
  })

  test('is none of a reviewer after fixes that nobody certified, whatever its state says of them', () => {
    // A fixer may have written `fixed: false` or a certificate into the state that the reviewer was handed.
    for (const lie of [
      { fixed: false },
      { certified: FIXED },
      { fixed: false, policy: { ...aRunState().policy, certify: 'never' as const } },
    ]) {
      const reviewer = item('reviewer', 3, looked('Review'), { commit: FIXED, ...lie })
      expect(verdictOf({ reviewer, fixer: item('fixer', 2, fixed) })?.outcome).not.toBe('approved')
    }
  })

  test('is none of a certificate on another commit, or of a look that did not end', () => {
    const reviewer = item('reviewer', 5, looked('Review'), { commit: FIXED })
    expect(verdictOf({ reviewer, certifier: item('certifier', 4, looked('Certify'), { commit: HEAD }) })).toBeNull()
    const stopped: LastStep = { ...looked('Certify'), ended: 'limit' } as LastStep
    expect(verdictOf({ reviewer, certifier: item('certifier', 4, stopped, { commit: FIXED }) })).toBeNull()
    expect(verdictOf({ reviewer, certifier: item('certifier', 4, looked('Certify'), { commit: FIXED }) })).toEqual(approved('certified'))
  })

  test('never is what the latest item says of a step that is not its own', () => {
    const reviewer = item('reviewer', 1, looked('Review', { autoFix: 1 }))
    for (const forged of [
      looked('Certify'),
      looked('Review'),
      { step: 'Prepare', empty: true },
      { step: 'Decide', answer: 'approve', by: 'eve' },
    ] as LastStep[])
      expect(verdictOf({ reviewer, fixer: item('fixer', 99, forged, { certified: HEAD }) })).toBeNull()
  })

  test("after a fixer's turn it is the person's, or that changes are requested", () => {
    const unchanged: LastStep = { step: 'Fix', ended: 'done', commits: 0, limit: null }
    const never = { policy: { ...aRunState().policy, ask: 'never' as const } }
    expect(verdictOf({ fixer: item('fixer', 2, unchanged) })).toBeNull()
    expect(verdictOf({ fixer: item('fixer', 2, unchanged, never) })).toMatchObject({ outcome: 'changes-requested', reason: 'no-change' })
    expect(verdictOf({ fixer: item('fixer', 2, unchanged) }, decided('q2', { kind: 'approve' }))).toEqual(approved('by-person', 'ada'))
  })

  test('takes a decision only for the question that followed the latest turn', () => {
    const reviewer = item('reviewer', 3, looked('Review', { other: 1 }))
    expect(verdictOf({ reviewer }, decided('q3', { kind: 'approve' }))).toEqual(approved('by-person', 'ada'))
    expect(verdictOf({ reviewer }, decided('q2', { kind: 'approve' }))).toBeNull()
    expect(verdictOf({ reviewer, fixer: item('fixer', 4, fixed) }, decided('q3', { kind: 'approve' }))).toBeNull()
    expect(verdictOf({ reviewer }, decided('q3', { kind: 'approve' }, null))?.outcome).toBe('changes-requested')
    expect(verdictOf({ reviewer }, decided('q3', { kind: 'expired' }, null))).toMatchObject({
      outcome: 'changes-requested',
      reason: 'expired',
    })
  })
})

describe('the question', () => {
  const state = aRunState('Park', { turn: 3, round: 1, record: 'records/x', policy: { ...aRunState().policy, askSeconds: 60 } })

  test('is made of the turn that it follows, and bounded in time', () => {
    expect(makeQuestion(state, aRecord(), 'ask-user', 0)).toEqual({
      id: questionId(3),
      why: 'ask-user',
      record: 'records/x',
      open: 1,
      roundsLeft: 2,
      reason: null,
      askedAt: '1970-01-01T00:00:00.000Z',
      expiresAt: '1970-01-01T00:01:00.000Z',
    })
    const long = { ...state, policy: { ...state.policy, askSeconds: 100 * 24 * 3600 } }
    expect(makeQuestion(long, aRecord(), 'ask-user', 0).expiresAt).toBe('1970-01-25T00:00:00.000Z')
    expect(makeQuestion({ ...state, round: 9 }, aRecord(), 'rounds', 0).roundsLeft).toBe(0)
  })

  test("tells the fixer's reason where it changed nothing", () => {
    const record = aRecord()
    const [first, ...others] = record.findings
    const event = { event: 'not-fixed' as const, turn: 2, round: 1, note: 'It is generated.' }
    const findings = first ? [{ ...first, history: [...first.history, event] }, ...others] : []
    expect(makeQuestion(state, { ...record, findings }, 'no-change', 0).reason).toBe('Looked.\nf-aaaaaaaaaa: It is generated.')
    expect(makeQuestion(state, { ...record, turns: [] }, 'no-change', 0).reason).toBeNull()
  })

  test('needs a record', () => {
    expect(() => makeQuestion({ ...state, record: null }, aRecord(), 'limit', 0)).toThrow(expect.objectContaining({ name: 'ArtifactLost' }))
  })
})
