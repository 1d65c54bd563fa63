import { describe, expect, test } from 'vitest'
import type { Decision } from '../../lib/loop/decision.ts'
import type { Finding } from '../../lib/loop/finding.ts'
import { applyDecision, applyFix, applyReview, counts, markReturned, type ReviewUpdate, toFix } from '../../lib/loop/ledger.ts'
import { policy } from '../../lib/loop/policy.ts'
import { emptyRecord, type FixCommit, runRecord, type RunRecord } from '../../lib/loop/record.ts'
import { aFinding } from '../support/findings.ts'

const A = aFinding('a')
const B = aFinding('b', { severity: 'warning', action: 'ask-user' })
const POLICY = policy.parse({})

const looked = (record: RunRecord, update: Partial<ReviewUpdate> = {}): RunRecord =>
  applyReview(record, { turn: 3, round: 1, role: 'reviewer', findings: [], accounts: [], given: [], ...update })
const raised = (...findings: Finding[]): RunRecord => looked(emptyRecord(), { turn: 1, round: 0, findings })
const only = (record: RunRecord, { id }: Finding = A) => record.findings.find((finding) => finding.id === id)
const lastEvent = (record: RunRecord, finding: Finding = A) => only(record, finding)?.history.at(-1)

const aCommit = (more: Partial<FixCommit> = {}): FixCommit => ({
  id: 'c'.repeat(40),
  turn: 2,
  round: 1,
  message: 'Fix',
  files: ['src/a.ts'],
  outside: [],
  findings: [A.id],
  ...more,
})
const fix = (record: RunRecord, ...ids: string[]) => applyFix(record, { turn: 2, round: 1, given: ids, results: [], commit: aCommit() })

const aDecision = (answer: Partial<Extract<Decision['answer'], { kind: 'fix' }>> | Decision['answer']): Decision => ({
  question: 'q1',
  answer: 'kind' in answer ? (answer as Decision['answer']) : { kind: 'fix', findings: [], decline: [], notes: {}, add: [], ...answer },
  by: 'ada',
  at: '2026-01-01T00:00:00.000Z',
})
const decide = (record: RunRecord, answer: Parameters<typeof aDecision>[0], ...addedFindings: Finding[]) =>
  applyDecision(record, aDecision(answer), { turn: 2, round: 1, addedFindings })

describe('a look', () => {
  test('raises what is new', () => {
    const record = raised(A, B)
    expect(record.findings).toMatchObject([
      { id: A.id, status: 'open', leftUnfixed: 0, returned: false, history: [{ event: 'raised', turn: 1, round: 0 }] },
      { id: B.id, status: 'open' },
    ])
    expect(runRecord.safeParse(record).success).toBe(true)
  })

  test('takes none away, whatever it says', () => {
    const record = looked(raised(A, B), { findings: [aFinding('c')], accounts: [{ id: A.id, status: 'withdrawn' }] })
    expect(record.findings.map(({ id }) => id)).toEqual([A.id, B.id, aFinding('c').id])
  })

  test.each([
    ['raised again', { findings: [A] }],
    ['accounted for as open', { accounts: [{ id: A.id, status: 'open' as const }] }],
    ['passed over in silence', {}],
    ['called fixed and raised in one breath', { findings: [A], accounts: [{ id: A.id, status: 'fixed' as const }] }],
  ])('%s: still open, and left unfixed if it was given', (_name, update) => {
    expect(only(looked(raised(A), update))).toMatchObject({
      status: 'open',
      leftUnfixed: 0,
      history: [{ event: 'raised' }, { event: 'still-open' }],
    })
    expect(only(looked(raised(A), { ...update, given: [A.id] }))).toMatchObject({ status: 'open', leftUnfixed: 1 })
  })

  test('raised again elsewhere and worse: what is told is the latest', () => {
    const moved = { ...A, line: 9, inDiff: true, severity: 'warning' as const, text: 'Now here.' }
    const record = looked(looked(raised({ ...A, endLine: 12, line: 8 })), { findings: [moved] })
    expect(only(record)).toMatchObject(moved)
    expect(only(record)).not.toHaveProperty('endLine')
  })

  test('accounted for as fixed: fixed by the commit of the cycle that names it, else by its last', () => {
    const other = aCommit({ id: 'd'.repeat(40), turn: 3, findings: [B.id] })
    const record = { ...fix(raised(A, B, aFinding('c')), A.id), commits: [aCommit({ id: 'e'.repeat(40), round: 0 }), aCommit(), other] }
    const accounts = ['a', 'b', 'c'].map((digit) => ({ id: aFinding(digit).id, status: 'fixed' as const, note: 'gone' }))
    const after = looked(record, { turn: 4, accounts })
    expect(after.findings.map(({ status }) => status)).toEqual(['fixed', 'fixed', 'fixed'])
    expect(lastEvent(after)).toEqual({ event: 'fixed', turn: 4, round: 1, commit: 'c'.repeat(40), note: 'gone' })
    expect(lastEvent(after, B)).toMatchObject({ commit: 'd'.repeat(40) })
    expect(lastEvent(after, aFinding('c'))).toMatchObject({ commit: 'd'.repeat(40) })
    // Without a commit in the cycle none is named.
    expect(lastEvent(looked(raised(A), { accounts: [{ id: A.id, status: 'fixed' }] }))).toEqual({ event: 'fixed', turn: 3, round: 1 })
  })

  test('accounted for as withdrawn: withdrawn, unless a person added it', () => {
    const accounts = [{ id: A.id, status: 'withdrawn' as const }]
    expect(only(looked(raised(A), { accounts }))).toMatchObject({ status: 'withdrawn' })
    expect(only(looked(decide(emptyRecord(), {}, A), { accounts }))).toMatchObject({ status: 'open' })
  })

  test.each(['fixed', 'withdrawn'] as const)('%s and raised again: reopened', (status) => {
    const before = looked(raised(A), { accounts: [{ id: A.id, status }] })
    const again = { turn: 4, given: [A.id] }
    for (const after of [
      looked(before, { ...again, role: 'certifier', findings: [A] }),
      looked(before, { ...again, accounts: [{ id: A.id, status: 'open' }] }),
    ]) {
      expect(only(after)).toMatchObject({ status: 'open', leftUnfixed: 1, returned: false })
      expect(lastEvent(after)).toMatchObject({ event: 'reopened', turn: 4 })
    }
    expect(only(looked(before))).toMatchObject({ status })
  })

  test('declined and raised again: stays declined, unless it has grown worse', () => {
    const before = decide(raised(B), { decline: [B.id] })
    expect(looked(before, { findings: [B], accounts: [{ id: B.id, status: 'open' }] }).findings).toEqual(before.findings)
    expect(looked(before, { findings: [{ ...B, severity: 'info' }] }).findings).toEqual(before.findings)
    expect(looked(before, { accounts: [{ id: B.id, status: 'fixed' }] }).findings).toEqual(before.findings)
    const worse = looked(before, { findings: [{ ...B, severity: 'error' }] })
    expect(only(worse, B)).toMatchObject({ status: 'open', severity: 'error', returned: true })
    expect(lastEvent(worse, B)).toMatchObject({ event: 'reopened' })
  })

  test("a certifier's silence changes nothing", () => {
    expect(looked(raised(A), { role: 'certifier', given: [A.id] }).findings).toEqual(raised(A).findings)
  })

  test('secrets in what is said are redacted', () => {
    const accounts = [{ id: A.id, status: 'open' as const, note: `see ghp_${'x'.repeat(36)}` }]
    expect(lastEvent(looked(raised(A), { accounts }))?.note).toBe('see [redacted:github-token]')
  })

  test('changes nothing of the record it was given', () => {
    const before = Object.freeze(raised(A))
    const copy = structuredClone(before)
    looked(before, { findings: [A], given: [A.id] })
    expect(before).toEqual(copy)
  })
})

describe('a fix turn', () => {
  test('leaves the findings open, with what was tried', () => {
    const record = applyFix(raised(A, B, aFinding('c')), {
      turn: 2,
      round: 1,
      given: [A.id, B.id],
      results: [
        { id: A.id, status: 'fixed', note: 'removed' },
        { id: B.id, status: 'not-fixed', note: 'unclear' },
        { id: aFinding('c').id, status: 'fixed' },
      ],
      commit: aCommit(),
    })
    expect(record.findings.map(({ status }) => status)).toEqual(['open', 'open', 'open'])
    expect(lastEvent(record)).toEqual({ event: 'given-to-fixer', turn: 2, round: 1, commit: 'c'.repeat(40), note: 'removed' })
    expect(lastEvent(record, B)).toEqual({ event: 'not-fixed', turn: 2, round: 1, note: 'unclear' })
    expect(lastEvent(record, aFinding('c'))).toMatchObject({ event: 'raised' })
    expect(record).toMatchObject({ given: [A.id, B.id], commits: [aCommit()] })
  })

  test('without a commit has fixed nothing, whatever it says', () => {
    const record = applyFix(raised(A), { turn: 2, round: 1, given: [A.id], results: [{ id: A.id, status: 'fixed' }], commit: null })
    expect(lastEvent(record)).toMatchObject({ event: 'not-fixed' })
    expect(record.commits).toEqual([])
  })
})

describe('a decision', () => {
  test('selects, declines and adds, by name', () => {
    const C = aFinding('c', { severity: 'info', action: 'ask-user' })
    const record = decide(raised(A, B), { findings: [B.id], decline: [A.id], note: 'for all', notes: { [B.id]: 'for b' } }, C)
    expect(only(record)).toMatchObject({ status: 'declined' })
    expect(lastEvent(record)).toEqual({ event: 'declined', turn: 2, round: 1, by: 'ada', note: 'for all' })
    expect(only(record, B)).toMatchObject({ status: 'open', action: 'auto-fix' })
    expect(lastEvent(record, B)).toEqual({ event: 'selected', turn: 2, round: 1, by: 'ada', note: 'for b' })
    expect(only(record, C)).toMatchObject({ status: 'open', action: 'auto-fix', history: [{ event: 'added-by-person', by: 'ada' }] })
    expect(record.given).toEqual([B.id, C.id])
    expect(record.decisions).toHaveLength(1)
    expect(runRecord.safeParse(record).success).toBe(true)
  })

  test('an added finding that is known is open again', () => {
    const declined = decide(raised(A), { decline: [A.id] })
    const record = decide(declined, {}, { ...A, text: 'Do mend it.' })
    expect(record.findings).toMatchObject([{ id: A.id, status: 'open', text: 'Do mend it.', returned: false }])
    expect(lastEvent(record)).toMatchObject({ event: 'added-by-person' })
  })

  test.each([{ kind: 'approve' }, { kind: 'skip' }, { kind: 'abort' }, { kind: 'expired' }] as const)(
    '$kind changes no finding',
    (answer) => {
      const record = decide(raised(A), answer)
      expect(record.findings).toEqual(raised(A).findings)
      expect(record.decisions).toMatchObject([{ answer }])
    },
  )

  test.each([
    ['unknown', 'f-0000000000'],
    ['no longer open', A.id],
  ])('an id that is %s is refused', (_name, id) => {
    const record = looked(raised(A), { accounts: [{ id: A.id, status: 'fixed' }] })
    for (const answer of [{ findings: [id] }, { decline: [id] }])
      expect(() => decide(record, answer)).toThrow(expect.objectContaining({ name: 'BadDecision', message: expect.stringContaining(id) }))
  })
})

describe('what a published run fixed before', () => {
  test('is back: returned', () => {
    const record = markReturned(raised(A, B), [A.id])
    expect(record.findings).toMatchObject([{ returned: true }, { returned: false }])
    expect(lastEvent(record)).toMatchObject({ event: 'reopened', turn: 1, note: expect.stringContaining('earlier run') })
    expect(markReturned(record, [A.id])).toEqual(record)
  })

  test('is back, but fixed by now, or asked for by a person: not returned', () => {
    const fixed = looked(raised(A), { accounts: [{ id: A.id, status: 'fixed' }] })
    expect(markReturned(fixed, [A.id])).toEqual(fixed)
    const selected = decide(markReturned(raised(A), [A.id]), { findings: [A.id] })
    expect(only(selected)).toMatchObject({ returned: false })
    expect(markReturned(selected, [A.id])).toEqual(selected)
  })
})

describe('counts', () => {
  test('what blocks, by what is to become of it', () => {
    const info = aFinding('c', { severity: 'info' })
    const record = raised(A, B, info, aFinding('d', { action: 'no-op' }))
    expect(counts(POLICY, record)).toEqual({ autoFix: 1, other: 2, stuck: 0 })
    expect(toFix(POLICY, record).map(({ id }) => id)).toEqual([A.id])
    expect(counts(policy.parse({ block_on: ['info'] }), record)).toEqual({ autoFix: 1, other: 1, stuck: 0 })
  })

  test('left unfixed twice, or returned: stuck, if it blocks', () => {
    const twice = looked(looked(raised(A), { given: [A.id] }), { given: [A.id] })
    expect(counts(POLICY, looked(raised(A), { given: [A.id] })).stuck).toBe(0)
    expect(counts(POLICY, twice)).toEqual({ autoFix: 1, other: 0, stuck: 1 })
    expect(counts(POLICY, markReturned(raised(A), [A.id])).stuck).toBe(1)
    expect(counts(POLICY, decide(twice, { decline: [A.id] }))).toEqual({ autoFix: 0, other: 0, stuck: 0 })
    expect(counts(POLICY, markReturned(raised({ ...A, severity: 'info' }), [A.id])).stuck).toBe(0)
  })

  test('what was fixed, withdrawn or declined is not given to the fixer', () => {
    const record = looked(raised(A), { accounts: [{ id: A.id, status: 'fixed' }] })
    expect(toFix(POLICY, record)).toEqual([])
    expect(counts(POLICY, record)).toEqual({ autoFix: 0, other: 0, stuck: 0 })
  })
})
