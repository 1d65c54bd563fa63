/** How a turn ended, from what the SDK says at its end. */
import type { AgentResult } from '../../loop/agent.ts'
import type { ClaudeEnd } from './messages.ts'

/** `lost`: the conversation can go on no more. `answered` is for the loop to judge. */
export type End =
  | { kind: 'answered'; output: unknown }
  | { kind: 'stopped' }
  | { kind: 'limit'; limit: 'dollars' | 'turn_calls' }
  | { kind: 'lost'; reason: string }
  | { kind: 'refused'; reason: string }
  | { kind: 'failed'; error: Extract<AgentResult, { kind: 'failed' }>['error']; reason: string }

const UNKNOWN_SESSION = /No conversation found|requires a valid session ID/
const TOO_LONG = ['prompt_too_long', 'image_error', 'blocking_limit']
/** Of the failed answers' kinds. */
const REFUSALS = [
  'authentication_failed',
  'oauth_org_not_allowed',
  'account_on_hold',
  'verification_required',
  'billing_error',
  'model_not_found',
  'cloud_credential_error',
]
const CONTEXT_FULL = /context window limit/

/** `failure`: kind of the failed answer before it, where there was one. */
export const endOf = (end: ClaudeEnd, failure: string | null): End => {
  const reason = end.errors.join('; ') || end.result || end.subtype
  if (end.subtype === 'error_max_budget_usd') return { kind: 'limit', limit: 'dollars' }
  if (end.subtype === 'error_max_turns') return { kind: 'limit', limit: 'turn_calls' }
  if (end.subtype !== 'success')
    return UNKNOWN_SESSION.test(reason) ? { kind: 'lost', reason } : { kind: 'failed', error: 'AgentFailed', reason }
  if (end.is_error) return failedCall(end, failure, reason)
  if (end.terminal_reason === 'hook_stopped') return { kind: 'stopped' }
  return { kind: 'answered', output: end.structured_output ?? end.result }
}

const failedCall = (end: ClaudeEnd, failure: string | null, reason: string): End => {
  const status = end.api_error_status ?? null
  if (TOO_LONG.includes(end.terminal_reason ?? '') || status === 413 || CONTEXT_FULL.test(reason)) return { kind: 'lost', reason }
  if (end.stop_reason === 'refusal' || (end.safety_stops ?? 0) > 0) return { kind: 'refused', reason: `the output was withheld: ${reason}` }
  if (status === 429 || failure === 'rate_limit') return { kind: 'failed', error: 'AgentThrottled', reason }
  if (status === 408 || status === 504) return { kind: 'failed', error: 'AgentTimedOut', reason }
  if ((status !== null && [401, 402, 403, 404].includes(status)) || REFUSALS.includes(failure ?? '')) return { kind: 'refused', reason }
  const isAway = status === null ? end.api_error === 'connection_failed' : status >= 500
  if (isAway || failure === 'overloaded' || failure === 'server_error') return { kind: 'failed', error: 'AgentOverloaded', reason }
  return { kind: 'failed', error: 'AgentFailed', reason }
}
