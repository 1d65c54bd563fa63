/** A turn's talk: the SDK runs until it answers, until we stop it between two calls of the model, or until its time is over. */
import type { AgentResult } from '../../loop/agent.ts'
import { answerOf } from '../../loop/prompts/answer-schema.ts'
import { answerOfParts } from '../tools/answer.ts'
import { Call, exhausted, type Talk } from './call.ts'
import { endOf } from './ends.ts'
import type { Stop } from './entries.ts'

export const talk = async (given: Talk): Promise<AgentResult> => {
  const limit = exhausted(given)
  if (limit) return { kind: 'limit', limit, usage: given.spent.usage, sessionId: sessionOf(given) }
  const { turn, pace } = given
  const call = new Call(given)
  const onAbort = (): void => call.cut()
  turn.signal.addEventListener('abort', onAbort)
  const timer = setTimeout(() => call.halt({ kind: 'late' }), Math.max(0, pace.left))
  try {
    await call.run()
  } finally {
    clearTimeout(timer)
    turn.signal.removeEventListener('abort', onAbort)
  }
  return resultOf(given, call)
}

const sessionOf = ({ turn, id }: Talk): string | null => (turn.session.mode === 'none' ? null : id)

const resultOf = (given: Talk, call: Call): AgentResult => {
  const { turn, spent, conversation, id } = given
  const { usage, context } = spent
  const failed = (error: Extract<AgentResult, { kind: 'failed' }>['error'], reason: string): AgentResult => ({
    kind: 'failed',
    error,
    reason,
    usage,
  })
  const lost = (reason: string): AgentResult =>
    turn.session.mode === 'resume' ? { kind: 'session_lost', reason, usage } : failed('AgentFailed', reason)
  const checkpoint = (how: Stop): AgentResult => {
    conversation.stop(how)
    return { kind: 'checkpoint', usage, sessionId: id, context }
  }
  const { halted, end } = call
  if (turn.signal.aborted) return failed('AgentCancelled', 'the turn was interrupted')
  if (halted?.kind === 'broken') return failed('AgentFailed', halted.reason)
  if (halted?.kind === 'other-session' || (end !== null && end.session_id !== id)) return lost('it answered in another session')
  if (end === null) {
    if (halted?.kind !== 'late') return failed('AgentFailed', call.said || 'it ended without a word')
    return spent.answers > 0 ? checkpoint('within') : failed('AgentTimedOut', 'the model did not answer before the turn ran out of time')
  }
  const ended = endOf(end, call.failure)
  switch (ended.kind) {
    case 'answered':
      return { kind: 'done', output: answerTo(given, ended.output), usage, sessionId: sessionOf(given), context }
    case 'stopped':
      if (halted?.kind === 'tokens') return { kind: 'limit', limit: 'tokens', usage, sessionId: sessionOf(given) }
      return checkpoint('between')
    case 'limit':
      return { kind: 'limit', limit: ended.limit, usage, sessionId: sessionOf(given) }
    case 'lost':
      return lost(ended.reason)
    case 'refused':
      return { kind: 'refused', reason: ended.reason, usage }
    case 'failed':
      return failed(ended.error, ended.reason)
  }
}

const answerTo = ({ turn, conversation }: Talk, output: unknown): unknown => {
  const answer = answerOf(output)
  return turn.prompt.task.kind === 'fix' ? answer : answerOfParts([answer], conversation.unread)
}
