/** The verdict as Publish reads it: from the items of those who judge, never from its input. */
import { STATE_OF_ROLE, TURN_ROLES, type TurnRole } from '../names.ts'
import type { RunItem, TurnItem } from './items.ts'
import { nextStep } from './next-step.ts'
import type { RunState, Verdict } from './run.ts'

/** Made of the turn that the question follows. */
export const questionId = (turn: number): string => `q${turn}`
export const turnOf = (question: string): number => Number(question.slice(1))

export type TurnItems = Record<TurnRole, TurnItem | null>

const CLEAN = { autoFix: 0, other: 0, stuck: 0 }

/** The commit that the certifier's own item clears of blocking findings; null where it clears none. */
const certifiedCommit = (certifier: TurnItem | null): string | null => {
  const { last, commit } = certifier?.done?.state ?? {}
  const clean =
    last?.step === 'Certify' && last.ended === 'done' && Object.keys(CLEAN).every((key) => last.open[key as keyof typeof CLEAN] === 0)
  return clean && commit ? commit : null
}

/** The latest finished turn of the three, with whose it is. Turn numbers go through the run, so there is one. */
const latestTurn = (items: TurnItems): { role: TurnRole; turn: number; state: RunState } | null => {
  const done = TURN_ROLES.flatMap((role) => {
    const turn = items[role]?.done
    return turn ? [{ role, turn: turn.turn, state: turn.state }] : []
  })
  return done.toSorted((a, b) => b.turn - a.turn)[0] ?? null
}

/**
 * How the run ends by what its items say: the latest finished turn decides, and a person's decision only where it answers the
 * question that followed that very turn. What a fixer's function could have written never approves: of its turn only a decision
 * counts; whether there are fix commits is read off the commit, and what is certified off the certifier's item.
 * null: no turn has finished, or the items say that the run goes on.
 */
export const verdictFromItems = ({ run, ...items }: TurnItems & { run: RunItem }): Verdict | null => {
  const latest = latestTurn(items)
  if (!latest) return null
  const state: RunState = {
    ...latest.state,
    fixed: latest.state.commit !== run.request.head,
    certified: certifiedCommit(items.certifier),
  }
  if (run.decision?.question === questionId(latest.turn))
    return nextStep({ ...state, last: { step: 'Decide', answer: run.decision.answer.kind, by: run.decision.by } }).verdict
  // An item that tells of another state's step than its owner's has been written by somebody else.
  if (state.last?.step !== STATE_OF_ROLE[latest.role]) return null
  return nextStep(state).verdict
}
