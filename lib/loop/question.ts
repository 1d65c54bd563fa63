/** What a parked run asks, made so that Park entered again asks the very same. */
import { MAX_PARK_DAYS } from '../names.ts'
import type { Question } from './decision.ts'
import { LoopError } from './errors.ts'
import { roundsLeft } from './next-step.ts'
import type { RunRecord } from './record.ts'
import { printable, redact } from './redact.ts'
import type { RunState } from './run.ts'
import { questionId } from './verdict.ts'

const MOST_REASON = 4000

/**
 * The question that follows the turn `state.turn`. `why` is `nextStep`'s; `now` is in ms since 1970. `open` counts everything that is
 * open, blocking or not: a person may choose any of it. Errors: ArtifactLost where the state names no record.
 */
export const makeQuestion = (state: RunState, record: RunRecord, why: Question['why'], now: number): Question => {
  if (!state.record) throw new LoopError('ArtifactLost', `Run ${state.runId} has no record to ask about.`, { runId: state.runId })
  const seconds = Math.min(state.policy.askSeconds, MAX_PARK_DAYS * 24 * 3600)
  return {
    id: questionId(state.turn),
    why,
    record: state.record,
    open: record.findings.filter(({ status }) => status === 'open').length,
    roundsLeft: roundsLeft(state),
    reason: why === 'no-change' ? fixersReason(record) : null,
    askedAt: new Date(now).toISOString(),
    expiresAt: new Date(now + seconds * 1000).toISOString(),
  }
}

/** The fixer's summary, and what it said of each finding that it left alone. */
const fixersReason = (record: RunRecord): string | null => {
  const turn = record.turns.findLast(({ role }) => role === 'fixer')
  if (!turn) return null
  const notes = record.findings.flatMap(({ id, history }) =>
    history.flatMap((event) => (event.turn === turn.turn && event.event === 'not-fixed' && event.note ? [`${id}: ${event.note}`] : [])),
  )
  return printable(redact([turn.summary, ...notes].filter(Boolean).join('\n'))).slice(0, MOST_REASON) || null
}
