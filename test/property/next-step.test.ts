import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { STEPS } from '../../lib/names.ts'
import { advance, nextStep } from '../../lib/loop/next-step.ts'
import { type LastStep, LIMITS, type LoopPolicy, runState, type RunState } from '../../lib/loop/run.ts'
import { aRunState } from '../support/run-state.ts'

const small = fc.integer({ min: 0, max: 2 })
const count = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.integer({ min: 0, max: 4 }) })
const ended = fc.oneof(
  { weight: 6, arbitrary: fc.constant('done' as const) },
  { weight: 3, arbitrary: fc.constant('checkpoint' as const) },
  { weight: 1, arbitrary: fc.constant('limit' as const) },
)
const policy: fc.Arbitrary<LoopPolicy> = fc.record({
  rounds: fc.integer({ min: 0, max: 4 }),
  certify: fc.constantFrom('auto', 'always', 'never'),
  ask: fc.constantFrom('always', 'never'),
  continuations: fc.integer({ min: 0, max: 3 }),
  askSeconds: fc.constant(60),
})

/** What the world answers when a step is entered: every kind of end at once, of which the step takes its own. */
const world = fc.record({
  ended,
  open: fc.record({ autoFix: count, other: count, stuck: count }),
  commits: small,
  empty: fc.constantFrom(false, false, false, true),
  answer: fc.oneof(
    { weight: 4, arbitrary: fc.constant('fix' as const) },
    { weight: 1, arbitrary: fc.constantFrom('approve' as const, 'skip' as const, 'abort' as const, 'expired' as const) },
  ),
  by: fc.option(fc.constant('ada')),
  limit: fc.constantFrom(...LIMITS),
})
type World = typeof world extends fc.Arbitrary<infer T> ? T : never

/** How the step that the state names ends in this world, and what its use case sets besides. */
const enter = (state: RunState, given: World, serial: number): { state: RunState; last: LastStep } => {
  const { next } = state
  const limit = given.ended === 'limit' ? given.limit : null
  if (next === 'Prepare') return { state, last: { step: next, empty: given.empty } }
  if (next === 'Park') return { state, last: { step: 'Decide', answer: given.answer, by: given.answer === 'expired' ? null : given.by } }
  if (next === 'Fix') {
    const commits = given.ended === 'checkpoint' ? 0 : given.commits
    const made = commits > 0 ? { fixed: true, commit: serial.toString(16).padStart(40, '0') } : {}
    return { state: { ...state, ...made, turn: state.turn + 1 }, last: { step: next, ended: given.ended, commits, limit } }
  }
  if (next !== 'Review' && next !== 'Certify') throw new Error(`${next} is no step that ends`)
  const clean = given.ended === 'done' && given.open.autoFix + given.open.other + given.open.stuck === 0
  const certified = next === 'Certify' && clean ? state.commit : state.certified
  return { state: { ...state, certified, turn: state.turn + 1 }, last: { step: next, ended: given.ended, open: given.open, limit } }
}

/** Drives a run as the state machine would, until Publish or Close, or until it has taken more steps than any run may. */
const drive = (start: RunState, worlds: readonly World[]): { states: RunState[]; ended: boolean } => {
  const states = [start]
  const most = 1000
  for (let step = 0; step < most; step++) {
    const now = states.at(-1) ?? start
    if (now.next === 'Publish' || now.next === 'Close') return { states, ended: true }
    const given = worlds[step % worlds.length]
    if (!given) return { states, ended: false }
    const { state, last } = enter(now, given, step + 1)
    states.push(advance(state, last))
  }
  return { states, ended: false }
}

const run = fc.record({ policy, worlds: fc.array(world, { minLength: 1, maxLength: 60 }) })
type Run = typeof run extends fc.Arbitrary<infer T> ? T : never
const driven = (given: Run) => drive(aRunState('Prepare', { policy: given.policy }), given.worlds)
/** Holds for every run when it ends, and for the way there. */
const assertEveryRun = (holds: (end: RunState, run: ReturnType<typeof driven> & Run) => boolean) =>
  fc.assert(
    fc.property(run, (given) => {
      const way = driven(given)
      return holds(way.states.at(-1) ?? aRunState(), { ...way, ...given })
    }),
    { numRuns: 3000 },
  )
const approved = ({ verdict }: RunState): boolean => verdict?.outcome === 'approved'

test('every run ends within the cap: rounds × continuations, and one answer a round more', () => {
  assertEveryRun((end, { states, ended: over, policy: { rounds, continuations } }) => {
    const answers = states.filter(({ last }) => last?.step === 'Decide').length
    // In each round a turn of the fixer, the reviewer and the certifier; before the first, one of the last two.
    const turns = (3 * rounds + 2) * (continuations + 1)
    return over && end.turn <= turns && end.round <= rounds && answers <= rounds + 1
  })
})

test('no path is approved with an open blocking finding that no person has approved', () => {
  const nothingOpen = ({ last }: RunState): boolean =>
    last?.step === 'Prepare'
      ? last.empty
      : (last?.step === 'Review' || last?.step === 'Certify') &&
        last.ended === 'done' &&
        last.open.autoFix + last.open.other + last.open.stuck === 0
  assertEveryRun(
    (end) => !approved(end) || nothingOpen(end) || (end.last?.step === 'Decide' && end.last.answer === 'approve' && end.last.by === 'ada'),
  )
})

test('no path is approved after a fix commit without a certificate on that commit or a person', () => {
  assertEveryRun((end) => !approved(end) || !end.fixed || end.certified === end.commit || end.verdict?.by === 'ada')
})

test('the paths tried do reach what these properties speak of', () => {
  const seen = new Set<string>()
  assertEveryRun((end) => seen.add(`${end.verdict?.reason ?? 'none'}${end.fixed ? ' after a fix' : ''}`).size > 0)
  const ends = ['certified', 'not-certified', 'by-person', 'rounds'].map((reason) => `${reason} after a fix`)
  expect([...seen]).toEqual(expect.arrayContaining([...ends, 'stuck', 'limit', 'no-change', 'clean', 'expired', 'aborted']))
})

test('where nobody is there to ask, no path parks', () => {
  assertEveryRun(
    (_end, given) => !driven({ ...given, policy: { ...given.policy, ask: 'never' } }).states.some(({ next }) => next === 'Park'),
  )
})

test('every combination of inputs has exactly one answer', () => {
  const last: fc.Arbitrary<LastStep | null> = fc.oneof(
    fc.constant(null),
    fc.record({ step: fc.constant('Prepare' as const), empty: fc.boolean() }),
    world.map(({ ended: how, open, limit }): LastStep => ({ step: 'Review', ended: how, open, limit })),
    world.map(({ ended: how, open, limit }): LastStep => ({ step: 'Certify', ended: how, open, limit })),
    world.map(({ ended: how, commits, limit }): LastStep => ({ step: 'Fix', ended: how, commits, limit })),
    world.map(({ answer, by }): LastStep => ({ step: 'Decide', answer, by })),
  )
  const state = fc
    .record({
      policy,
      last,
      round: fc.integer({ min: 0, max: 6 }),
      continuations: fc.integer({ min: 0, max: 6 }),
      fixed: fc.boolean(),
      covered: fc.boolean(),
      next: fc.constantFrom(...STEPS),
    })
    .map(({ covered, next, ...more }) => aRunState(next, { ...more, certified: covered ? 'a'.repeat(40) : null }))
  fc.assert(
    fc.property(state, (given) => {
      const answer = nextStep(given)
      expect(STEPS).toContain(answer.next)
      expect(nextStep(structuredClone(given))).toEqual(answer)
      // An end has a verdict, and nothing else has; only who is asked is asked something.
      expect(answer.verdict !== null).toBe(answer.next === 'Publish' || answer.next === 'Close')
      expect(answer.next !== 'Park' || answer.why !== null).toBe(true)
      expect(given.last === null || runState.safeParse(advance(given, given.last)).success).toBe(true)
    }),
    { numRuns: 5000 },
  )
})
