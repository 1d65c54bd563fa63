/** Where a run goes next: the table of the design. The state machine only branches on the answer. */
import type { Step } from '../names.ts'
import type { Question } from './decision.ts'
import type { LastStep, OpenCounts, RunState, Verdict } from './run.ts'

export interface NextStep {
  next: Step
  /** How the run ends; null while it goes on. */
  verdict: Verdict | null
  /** What a person is asked, or would be asked if anybody were there. */
  why: Question['why'] | null
}

/** What the rows look at: the last step's end, with what is left of rounds and continuations. */
interface Facts {
  step: LastStep['step'] | null
  empty: boolean
  ended: 'done' | 'checkpoint' | 'limit'
  open: OpenCounts
  blocking: boolean
  commits: number
  answer: Extract<LastStep, { step: 'Decide' }>['answer'] | null
  by: string | null
  asks: boolean
  roundsLeft: boolean
  continuationsLeft: boolean
  certify: RunState['policy']['certify']
  fixed: boolean
  /** A certificate covers the commit that stands. */
  covered: boolean
}

interface Row {
  after: readonly Facts['step'][]
  when: (facts: Facts) => boolean
  to: (facts: Facts) => NextStep
}

const go = (next: Step): NextStep => ({ next, verdict: null, why: null })

const end = (next: 'Publish' | 'Close', outcome: Verdict['outcome'], reason: Verdict['reason'], by: string | null = null): NextStep => ({
  next,
  verdict: { outcome, reason, by, error: null },
  why: null,
})
const approve = (reason: Verdict['reason'], by: string | null = null): NextStep => end('Publish', 'approved', reason, by)
const requestChanges = (reason: Verdict['reason'], by: string | null = null): NextStep => end('Publish', 'changes-requested', reason, by)

/** Where nobody is there to ask, Park is Publish with the same question, and never approves. */
const park = (why: Question['why'], facts: Facts): NextStep =>
  facts.asks ? { next: 'Park', verdict: null, why } : { ...requestChanges(why === 'ask-user' ? 'open-findings' : why), why }

const ANY = [null, 'Prepare', 'Review', 'Certify', 'Fix', 'Decide'] as const
const TURN = ['Review', 'Certify', 'Fix'] as const
const LOOK = ['Review', 'Certify'] as const

/** The first row that matches wins. */
const TABLE: readonly Row[] = [
  { after: [null], when: () => true, to: () => go('Prepare') },

  { after: ['Prepare'], when: (f) => f.empty, to: () => approve('nothing-to-review') },
  { after: ['Prepare'], when: () => true, to: () => go('Review') },

  { after: TURN, when: (f) => f.ended === 'checkpoint' && f.continuationsLeft, to: (f) => go(f.step as (typeof TURN)[number]) },
  { after: TURN, when: (f) => f.ended !== 'done', to: (f) => park('limit', f) },

  { after: LOOK, when: (f) => f.open.stuck > 0, to: (f) => park('stuck', f) },
  { after: LOOK, when: (f) => f.open.autoFix > 0 && f.roundsLeft, to: () => go('Fix') },
  { after: LOOK, when: (f) => f.blocking, to: (f) => park(f.open.autoFix > 0 ? 'rounds' : 'ask-user', f) },

  { after: ['Review'], when: (f) => f.certify === 'always' && !f.covered, to: () => go('Certify') },
  { after: ['Review'], when: (f) => f.certify === 'auto' && f.fixed && !f.covered, to: () => go('Certify') },
  { after: ['Review'], when: (f) => f.certify === 'never' && f.fixed, to: () => requestChanges('not-certified') },
  { after: ['Review'], when: (f) => !f.covered, to: () => approve('clean') },
  { after: LOOK, when: () => true, to: () => approve('certified') },

  { after: ['Fix'], when: (f) => f.commits > 0, to: () => go('Review') },
  { after: ['Fix'], when: () => true, to: (f) => park('no-change', f) },

  { after: ['Decide'], when: (f) => f.answer === 'approve' && f.by !== null, to: (f) => approve('by-person', f.by) },
  { after: ['Decide'], when: (f) => f.answer === 'fix' && f.roundsLeft, to: () => go('Fix') },
  { after: ['Decide'], when: (f) => f.answer === 'fix', to: (f) => requestChanges('rounds', f.by) },
  { after: ['Decide'], when: (f) => f.answer === 'skip', to: (f) => requestChanges('skipped', f.by) },
  { after: ['Decide'], when: (f) => f.answer === 'abort', to: (f) => end('Close', 'aborted', 'aborted', f.by) },
  { after: ['Decide'], when: (f) => f.answer === 'expired', to: () => requestChanges('expired') },
]
/** What no row foresees (an approval without a name) never approves. */
const OTHERWISE: Row = { after: ANY, when: () => true, to: () => requestChanges('open-findings') }

const NOTHING_OPEN: OpenCounts = { autoFix: 0, other: 0, stuck: 0 }

const factsOf = ({ last, policy, round, continuations, certified, commit, fixed }: RunState): Facts => {
  const open = last && 'open' in last ? last.open : NOTHING_OPEN
  return {
    step: last?.step ?? null,
    empty: last?.step === 'Prepare' && last.empty,
    ended: last && 'ended' in last ? last.ended : 'done',
    open,
    blocking: open.autoFix + open.other + open.stuck > 0,
    commits: last?.step === 'Fix' ? last.commits : 0,
    answer: last?.step === 'Decide' ? last.answer : null,
    by: last?.step === 'Decide' ? last.by : null,
    asks: policy.ask === 'always',
    roundsLeft: round < policy.rounds,
    continuationsLeft: continuations < policy.continuations,
    certify: policy.certify,
    fixed,
    covered: certified === commit,
  }
}

/**
 * Where the run goes after `state.last`. Pure and total: it looks at the last step's end, the policy and the counters, and never
 * throws. `verdict` is set with Publish and Close, `why` where a person is to be asked, or would be if `ask` were not `never`.
 */
export const nextStep = (state: RunState): NextStep => {
  const facts = factsOf(state)
  const row = TABLE.find(({ after, when }) => after.includes(facts.step) && when(facts)) ?? OTHERWISE
  return row.to(facts)
}

/** Fix cycles that may still begin. */
export const roundsLeft = (state: Pick<RunState, 'round' | 'policy'>): number => Math.max(0, state.policy.rounds - state.round)

/**
 * The state after a step has ended with `last`: next step, verdict and counters. `continuations` counts re-entries of one turn after
 * checkpoints; `round` goes up on the way into a fix cycle, and not when a fixer's turn goes on after a checkpoint.
 * `commit`, `fixed`, `certified`, `turn` and the keys are the caller's to set before.
 */
export const advance = (state: RunState, last: LastStep): RunState => {
  const reached = { ...state, last }
  const { next, verdict } = nextStep(reached)
  const goesOn = 'ended' in last && last.ended === 'checkpoint' && next === last.step
  return {
    ...reached,
    next,
    verdict,
    // Where none was left they stay: whoever asks again why the run stops here (Park, Publish) has to be answered alike.
    continuations: goesOn ? state.continuations + 1 : 'ended' in last && last.ended === 'checkpoint' ? state.continuations : 0,
    round: next === 'Fix' && !goesOn ? state.round + 1 : state.round,
  }
}
