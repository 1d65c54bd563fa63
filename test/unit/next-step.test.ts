import { describe, expect, test } from 'vitest'
import type { Step } from '../../lib/names.ts'
import { advance, nextStep } from '../../lib/loop/next-step.ts'
import type { LastStep, LoopPolicy, RunState, Verdict } from '../../lib/loop/run.ts'
import { aRunState } from '../support/run-state.ts'

const OPEN = { autoFix: 0, other: 0, stuck: 0 }
const looked = (step: 'Review' | 'Certify', open: Partial<typeof OPEN> = {}): LastStep => ({
  step,
  ended: 'done',
  open: { ...OPEN, ...open },
  limit: null,
})
const fixed = (commits: number): LastStep => ({ step: 'Fix', ended: 'done', commits, limit: null })
const decided = (answer: Extract<LastStep, { step: 'Decide' }>['answer'], by: string | null = 'ada'): LastStep => ({
  step: 'Decide',
  answer,
  by,
})
const stopped = (step: 'Review' | 'Fix' | 'Certify', ended: 'checkpoint' | 'limit'): LastStep => {
  const limit = ended === 'limit' ? 'tokens' : null
  return step === 'Fix' ? { step, ended, commits: 0, limit } : { step, ended, open: OPEN, limit }
}

type Outcome = [next: Step, outcome?: Verdict['outcome'], reason?: Verdict['reason'], by?: string | null]
interface Row {
  after: string
  when: string
  last: LastStep | null
  state?: Partial<Omit<RunState, 'policy'>>
  policy?: Partial<LoopPolicy>
  is: Outcome
  why?: string
}

/** The table of the design, row by row; where a row names several steps or conditions, each is here. */
const rows: Row[] = [
  { after: 'nothing', when: 'the run begins', last: null, is: ['Prepare'] },
  {
    after: 'Prepare',
    when: 'the change is empty',
    last: { step: 'Prepare', empty: true },
    is: ['Publish', 'approved', 'nothing-to-review'],
  },
  { after: 'Prepare', when: 'there is a change', last: { step: 'Prepare', empty: false }, is: ['Review'] },
  ...(['Review', 'Fix', 'Certify'] as const).flatMap((step): Row[] => [
    { after: step, when: 'it stopped at a checkpoint, continuations left', last: stopped(step, 'checkpoint'), is: [step] },
    {
      after: step,
      when: 'it stopped at a checkpoint, the last continuation left',
      last: stopped(step, 'checkpoint'),
      state: { continuations: 4 },
      is: [step],
    },
    {
      after: step,
      when: 'it stopped at a checkpoint, none left',
      last: stopped(step, 'checkpoint'),
      state: { continuations: 5 },
      is: ['Park'],
      why: 'limit',
    },
    { after: step, when: 'a cap was reached', last: stopped(step, 'limit'), is: ['Park'], why: 'limit' },
    {
      after: step,
      when: 'a cap was reached, nobody to ask',
      last: stopped(step, 'limit'),
      policy: { ask: 'never' },
      is: ['Publish', 'changes-requested', 'limit'],
      why: 'limit',
    },
    {
      after: step,
      when: 'it stopped at a checkpoint, none left, nobody to ask',
      last: stopped(step, 'checkpoint'),
      policy: { ask: 'never', continuations: 0 },
      is: ['Publish', 'changes-requested', 'limit'],
      why: 'limit',
    },
  ]),
  ...(['Review', 'Certify'] as const).flatMap((step): Row[] => [
    { after: step, when: 'a blocking finding is stuck', last: looked(step, { autoFix: 2, stuck: 1 }), is: ['Park'], why: 'stuck' },
    {
      after: step,
      when: 'a blocking finding is stuck, nobody to ask',
      last: looked(step, { autoFix: 2, stuck: 1 }),
      policy: { ask: 'never' },
      is: ['Publish', 'changes-requested', 'stuck'],
      why: 'stuck',
    },
    { after: step, when: 'blocking auto-fix findings, rounds left', last: looked(step, { autoFix: 1 }), state: { round: 2 }, is: ['Fix'] },
    { after: step, when: 'auto-fix and other blocking findings, rounds left', last: looked(step, { autoFix: 1, other: 3 }), is: ['Fix'] },
    { after: step, when: 'other blocking findings only', last: looked(step, { other: 1 }), is: ['Park'], why: 'ask-user' },
    {
      after: step,
      when: 'other blocking findings only, nobody to ask',
      last: looked(step, { other: 1 }),
      policy: { ask: 'never' },
      is: ['Publish', 'changes-requested', 'open-findings'],
      why: 'ask-user',
    },
    {
      after: step,
      when: 'blocking auto-fix findings, rounds used up',
      last: looked(step, { autoFix: 1 }),
      state: { round: 3 },
      is: ['Park'],
      why: 'rounds',
    },
    {
      after: step,
      when: 'blocking auto-fix findings, rounds used up, nobody to ask',
      last: looked(step, { autoFix: 1 }),
      state: { round: 3 },
      policy: { ask: 'never' },
      is: ['Publish', 'changes-requested', 'rounds'],
      why: 'rounds',
    },
  ]),
  { after: 'Review', when: 'nothing blocks, certify: always', last: looked('Review'), policy: { certify: 'always' }, is: ['Certify'] },
  {
    after: 'Review',
    when: 'nothing blocks, certify: auto, fix commits without certificate',
    last: looked('Review'),
    state: { fixed: true, certified: 'b'.repeat(40) },
    is: ['Certify'],
  },
  {
    after: 'Review',
    when: 'nothing blocks, certify: auto, fix commits with certificate',
    last: looked('Review'),
    state: { fixed: true, certified: 'a'.repeat(40) },
    is: ['Publish', 'approved', 'certified'],
  },
  {
    after: 'Review',
    when: 'nothing blocks, certify: always, with certificate',
    last: looked('Review'),
    state: { certified: 'a'.repeat(40) },
    policy: { certify: 'always' },
    is: ['Publish', 'approved', 'certified'],
  },
  {
    after: 'Review',
    when: 'nothing blocks, but fix commits and certify: never',
    last: looked('Review'),
    state: { fixed: true },
    policy: { certify: 'never' },
    is: ['Publish', 'changes-requested', 'not-certified'],
  },
  { after: 'Review', when: 'nothing blocks, certify: auto, no fix commit', last: looked('Review'), is: ['Publish', 'approved', 'clean'] },
  {
    after: 'Review',
    when: 'nothing blocks, certify: never, no fix commit',
    last: looked('Review'),
    policy: { certify: 'never' },
    is: ['Publish', 'approved', 'clean'],
  },
  {
    after: 'Certify',
    when: 'nothing blocks',
    last: looked('Certify'),
    state: { fixed: true, certified: 'a'.repeat(40) },
    is: ['Publish', 'approved', 'certified'],
  },
  { after: 'Fix', when: 'commits were made', last: fixed(1), is: ['Review'] },
  { after: 'Fix', when: 'no change was made', last: fixed(0), is: ['Park'], why: 'no-change' },
  {
    after: 'Fix',
    when: 'no change was made, nobody to ask',
    last: fixed(0),
    policy: { ask: 'never' },
    is: ['Publish', 'changes-requested', 'no-change'],
    why: 'no-change',
  },
  { after: 'Decide', when: 'approve', last: decided('approve'), is: ['Publish', 'approved', 'by-person', 'ada'] },
  {
    after: 'Decide',
    when: 'approve without a name',
    last: decided('approve', null),
    is: ['Publish', 'changes-requested', 'open-findings'],
  },
  { after: 'Decide', when: 'fix these, rounds left', last: decided('fix'), state: { round: 2 }, is: ['Fix'] },
  {
    after: 'Decide',
    when: 'fix these, no round left',
    last: decided('fix'),
    state: { round: 3 },
    is: ['Publish', 'changes-requested', 'rounds', 'ada'],
  },
  { after: 'Decide', when: 'skip', last: decided('skip'), is: ['Publish', 'changes-requested', 'skipped', 'ada'] },
  { after: 'Decide', when: 'abort', last: decided('abort'), is: ['Close', 'aborted', 'aborted', 'ada'] },
  { after: 'Decide', when: 'nobody answered in time', last: decided('expired', null), is: ['Publish', 'changes-requested', 'expired'] },
]

const stateOf = ({ last, state, policy }: Pick<Row, 'last' | 'state' | 'policy'>): RunState => {
  const start = aRunState('Prepare', { ...state, last })
  return { ...start, policy: { ...start.policy, ...policy } }
}

describe('the table of the design', () => {
  test.each(rows)('after $after, when $when: $is', (row) => {
    const [next, outcome, reason, by = null] = row.is
    expect(nextStep(stateOf(row))).toEqual({
      next,
      verdict: outcome && reason ? { outcome, reason, by, error: null } : null,
      why: row.why ?? null,
    })
  })
})

describe('advance', () => {
  test('counts a continuation, and forgets them when the turn ends otherwise', () => {
    const going = advance(aRunState('Review', { continuations: 2 }), stopped('Review', 'checkpoint'))
    expect(going).toMatchObject({ next: 'Review', continuations: 3, round: 0, verdict: null })
    expect(advance(going, looked('Review', { autoFix: 1 }))).toMatchObject({ next: 'Fix', continuations: 0 })
  })

  test.each(['Review', 'Certify', 'Fix'] as const)(
    'whoever asks again why %s stopped for good at a checkpoint is answered alike',
    (step) => {
      for (const ask of ['always', 'never'] as const) {
        const before = aRunState(step, { continuations: 5 })
        const over = advance({ ...before, policy: { ...before.policy, ask } }, stopped(step, 'checkpoint'))
        const { next, verdict } = over
        expect(nextStep(over)).toEqual({ next, verdict, why: 'limit' })
        expect(advance(over, decided('fix')).continuations).toBe(0)
      }
    },
  )

  test.each([looked('Review', { autoFix: 1 }), looked('Certify', { autoFix: 1 }), decided('fix')])(
    'begins a round on the way into Fix from $step',
    (last) => {
      expect(advance(aRunState(last.step, { round: 1 }), last)).toMatchObject({ next: 'Fix', round: 2, last })
    },
  )

  test('begins no round for a continuation of Fix, nor on any other way', () => {
    expect(advance(aRunState('Fix', { round: 1 }), stopped('Fix', 'checkpoint'))).toMatchObject({
      next: 'Fix',
      round: 1,
      continuations: 1,
    })
    expect(advance(aRunState('Fix', { round: 1 }), fixed(1))).toMatchObject({ next: 'Review', round: 1 })
  })

  test('sets the verdict with the end and clears it before', () => {
    expect(advance(aRunState('Review'), looked('Review')).verdict).toMatchObject({ outcome: 'approved', reason: 'clean' })
    const verdict: Verdict = { outcome: 'approved', reason: 'clean', by: null, error: null }
    expect(advance(aRunState('Review', { verdict }), looked('Review', { autoFix: 1 })).verdict).toBeNull()
  })
})
