/** What an agent's errors mean to a turn. The protocol says little of them, so that what they say is read as well. */
import { RequestError } from '@agentclientprotocol/sdk'
import type { AgentResult } from '../../loop/agent.ts'
import { redact } from '../../loop/redact.ts'

type Failed = Extract<AgentResult, { kind: 'failed' }>['error']
export type Failure =
  | { kind: 'failed'; error: Exclude<Failed, 'AgentCancelled'>; reason: string }
  | { kind: 'refused'; reason: string }
  | { kind: 'session_lost'; reason: string }

const AUTH_REQUIRED = -32000
const NOT_FOUND = -32002

const SIGNS: readonly (readonly [pattern: RegExp, kind: 'lost' | 'refused' | Exclude<Failed, 'AgentCancelled'>])[] = [
  [/context (?:length|window)|(?:prompt|input) is too long|maximum context/i, 'lost'],
  [/\b429\b|rate.?limit|too many requests|quota|throttl|resource.?exhausted/i, 'AgentThrottled'],
  [/\b(?:401|403)\b|unauthori[sz]ed|forbidden|invalid api key|authenticat|permission.?denied/i, 'refused'],
  [/content.?filter|content.?policy|safety/i, 'refused'],
  [/\b(?:500|502|503|504|529)\b|overloaded|unavailable|internal server error|bad gateway/i, 'AgentOverloaded'],
  [/ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|fetch failed|connection (?:error|closed|reset)|socket hang up|terminated/i, 'AgentOverloaded'],
  [/time(?:d)?.?out/i, 'AgentTimedOut'],
]

const MOST_REASON = 500

/** What an error says, cut and without secrets. */
export const saidBy = (error: unknown): string => {
  const message = error instanceof Error ? error.message : String(error)
  const data = error instanceof RequestError && error.data !== undefined ? ` (${JSON.stringify(error.data)})` : ''
  return redact(`${message}${data}`).slice(0, MOST_REASON)
}

/** An error of a prompt. `isResumed`: a session that its model cannot take in any more is as good as gone. */
export const failureOfPrompt = (error: unknown, isResumed: boolean): Failure => {
  const reason = saidBy(error)
  const code = error instanceof RequestError ? error.code : null
  if (code === AUTH_REQUIRED) return { kind: 'refused', reason }
  if (code === NOT_FOUND && isResumed) return { kind: 'session_lost', reason }
  const sign = SIGNS.find(([pattern]) => pattern.test(reason))?.[1]
  if (sign === 'refused') return { kind: 'refused', reason }
  if (sign === 'lost') return isResumed ? { kind: 'session_lost', reason } : { kind: 'failed', error: 'AgentFailed', reason }
  return { kind: 'failed', error: sign ?? 'AgentFailed', reason }
}

/** An error of opening a session. Whatever an agent says of one that it cannot open again, it is dead, unless it wants a login. */
export const failureOfOpening = (error: unknown, isResumed: boolean): Failure => {
  const reason = saidBy(error)
  if (error instanceof RequestError && error.code === AUTH_REQUIRED) return { kind: 'refused', reason }
  return isResumed ? { kind: 'session_lost', reason } : failureOfPrompt(error, false)
}
