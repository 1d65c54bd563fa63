import type { RunItem } from '../../lib/loop/items.ts'
import { applyDecision, applyFix, applyReview } from '../../lib/loop/ledger.ts'
import { emptyRecord, type RunRecord, type TurnRecord } from '../../lib/loop/record.ts'
import { aFinding } from './findings.ts'

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString()

export const aRun = (more: Partial<RunItem> = {}): RunItem => ({
  bundle: null,
  runId: 'r-0123456789abcdef',
  rev: 3,
  nonce: 'n',
  request: {
    repository: 'https://example.com/team/project',
    branch: 'feature',
    base: 'b'.repeat(40),
    head: 'a'.repeat(40),
    overrides: {},
    attempt: 1,
    publishTo: null,
  },
  status: 'ended',
  epoch: 1,
  startedBy: 'cli',
  question: null,
  token: 'the-task-token',
  decision: null,
  publishing: { ref: 'reviewloop/r-0123456789abcdef', commit: 'c'.repeat(40) },
  reports: { patch: 'reports/r-0123456789abcdef/report.patch' },
  record: 'records/x',
  verdict: { outcome: 'approved', reason: 'certified', by: null, error: null },
  failure: null,
  createdAt: at(0),
  updatedAt: at(50),
  endedAt: at(60),
  closed: true,
  ttl: 1,
  ...more,
})

export const aTurn = (turn: number, more: Partial<TurnRecord> = {}): TurnRecord => ({
  role: 'reviewer',
  turn,
  round: 0,
  fence: 1,
  epoch: 1,
  mode: 'started',
  why: 'first turn',
  agent: 'lint',
  agentVersion: '1.0.0',
  fingerprint: 'abcdef012345',
  ended: 'done',
  limit: null,
  usage: { input: 100, output: 20, cacheRead: 0, cacheWrite: null, dollars: 0.25, calls: 1 },
  startedAt: at(turn * 10),
  endedAt: at(turn * 10 + 2),
  raised: 0,
  fixed: 0,
  open: 0,
  commit: 'a'.repeat(40),
  summary: 'Looked.',
  ...more,
})

/** A run of two rounds: a finding fixed, one declined by name, one open, and one withdrawn. */
export const aRecord = (): RunRecord => {
  const [fixed, declined, open, withdrawn] = [
    aFinding('a', { line: 3, inDiff: true }),
    aFinding('b', {
      severity: 'warning',
      action: 'ask-user',
      rule: 'naming',
      file: 'src/odd name/ü#1.ts',
      line: 7,
      endLine: 9,
      inDiff: true,
    }),
    aFinding('d', { severity: 'info', action: 'no-op', rule: 'style', text: 'Long lines.' }),
    aFinding('e'),
  ]
  const raised = applyReview(emptyRecord(), {
    turn: 1,
    round: 0,
    role: 'reviewer',
    findings: [fixed, declined, open, withdrawn],
    accounts: [],
    given: [],
  })
  const decision = {
    question: 'q1',
    answer: { kind: 'fix' as const, findings: [fixed.id], decline: [declined.id], note: 'as agreed', notes: {}, add: [] },
    by: 'ada',
    at: at(15),
  }
  const commit = {
    id: 'c'.repeat(40),
    turn: 2,
    round: 1,
    message: 'Fix 1\n\nmore',
    files: ['src/a.ts', 'src/b.ts'],
    outside: ['src/b.ts'],
    findings: [fixed.id],
  }
  const decided = applyDecision(raised, decision, { turn: 2, round: 1, addedFindings: [] })
  const tried = applyFix(decided, {
    turn: 2,
    round: 1,
    given: [fixed.id],
    results: [{ id: fixed.id, status: 'fixed', note: 'removed' }],
    commit,
  })
  const looked = applyReview(tried, {
    turn: 3,
    round: 1,
    role: 'reviewer',
    findings: [],
    accounts: [
      { id: fixed.id, status: 'fixed' },
      { id: withdrawn.id, status: 'withdrawn' },
    ],
    given: [fixed.id],
  })
  return {
    ...looked,
    turns: [
      aTurn(1, { raised: 4, open: 3 }),
      aTurn(2, { role: 'fixer', round: 1, fingerprint: 'fedcba543210', fixed: 1 }),
      aTurn(3, { round: 1, mode: 'resumed', why: 'the session of turn 1' }),
      aTurn(4, {
        role: 'certifier',
        round: 1,
        mode: 'cold',
        why: 'a certifier has no session',
        fingerprint: null,
        usage: { ...aTurn(1).usage, dollars: null, input: null },
      }),
    ],
    certificates: [{ commit: 'c'.repeat(40), turn: 4, agent: 'lint', agentVersion: '1.0.0', at: at(42) }],
    skipped: [{ file: 'big file.sql', reason: 'over 512 KB' }],
    notices: ['The settings of the head are not used.'],
  }
}
