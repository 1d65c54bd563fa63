import type { Step } from '../../lib/names.ts'
import type { RunState } from '../../lib/loop/run.ts'

/** A valid run state at the start of a run, for tests that only care about where it goes next. */
export const aRunState = (next: Step = 'Prepare', more: Partial<RunState> = {}): RunState => ({
  runId: 'r-0123456789abcdef',
  epoch: 1,
  next,
  policy: { rounds: 3, certify: 'auto', ask: 'always', askSeconds: 3600, continuations: 5 },
  turn: 0,
  round: 0,
  continuations: 0,
  source: null,
  record: null,
  changeset: null,
  decision: null,
  commit: 'a'.repeat(40),
  certified: null,
  fixed: false,
  spent: { tokens: 0, dollars: null, milliseconds: 0 },
  last: null,
  verdict: null,
  ...more,
})
