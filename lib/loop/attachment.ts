/** Which session a turn of a role may have: decided from the item and the policy, before anything is loaded. */
import type { Role, TurnRole } from '../names.ts'
import type { Agent } from './agent.ts'
import type { SessionRecord, TurnItem } from './items.ts'
import type { Policy } from './policy.ts'

/** `why` is shown to people. */
export type Attachment =
  | { use: 'none'; why: string }
  | { use: 'start'; why: string }
  | { use: 'resume'; session: SessionRecord; why: string }

type Served = Pick<Agent, 'id' | 'version' | 'capabilities' | 'cacheMinutes' | 'whyCold'>
type SessionPolicy = Pick<Policy, 'session_reuse' | 'sessions'>

/** Whether what the turn leaves is kept for a later turn of the role. */
export const isKept = (role: Role, policy: SessionPolicy): boolean =>
  policy.session_reuse && !(role === 'reviewer' && policy.sessions.reviewer === 'turn')

/** Whether a turn of the role is to go on in the session of the one before: by the policy, whatever then becomes of it. */
export const isToBeResumed = (role: TurnRole, policy: SessionPolicy, item: Pick<TurnItem, 'done'>, cycle: number): boolean =>
  role !== 'certifier' &&
  isKept(role, policy) &&
  item.done !== null &&
  !(role === 'fixer' && policy.sessions.fixer === 'cycle' && item.done.record.round !== cycle)

/** `cycle` is the round of the turn; `now` is ms since 1970. */
export const attachment = (options: {
  role: Role
  agent: Served
  policy: SessionPolicy
  item: Pick<TurnItem, 'session' | 'fingerprints'>
  cycle: number
  now: number
}): Attachment => {
  const { role, agent, policy, item } = options
  if (!policy.session_reuse) return { use: 'none', why: 'session_reuse is off' }
  if (!agent.capabilities.resume)
    return { use: 'none', why: `${agent.id} cannot resume a session${agent.whyCold ? `: ${agent.whyCold}` : ''}` }
  if (!isKept(role, policy)) return { use: 'start', why: 'sessions.reviewer is turn' }
  const { session } = item
  if (!session) return { use: 'start', why: item.fingerprints.length > 0 ? 'no session is stored any more' : 'first turn of the role' }
  const objection = objectionTo(session, options)
  return objection ? { use: 'start', why: objection } : { use: 'resume', session, why: 'session of the turn before' }
}

/** Why a stored session is not attached; null where it is. */
const objectionTo = (
  session: SessionRecord,
  { role, agent, policy, cycle, now }: { role: Role; agent: Served; policy: SessionPolicy; cycle: number; now: number },
): string | null => {
  if (session.role !== role) return `the stored session is a ${session.role}'s`
  if (session.agent !== agent.id) return `the stored session is one of ${session.agent}`
  if (session.agentVersion !== agent.version) return `the stored session was made by ${session.agent} ${session.agentVersion}`
  if (role === 'fixer' && policy.sessions.fixer === 'cycle' && session.cycle !== cycle) return 'a new cycle began'
  if (Date.parse(session.expiresAt) <= now) return 'the stored session has expired'
  const idle = objectionToIdle(now - Date.parse(session.usedAt), agent, policy.sessions.max_idle)
  if (idle !== null) return idle
  if ((session.tokens ?? 0) > policy.sessions.max_tokens) return `grown to more than ${policy.sessions.max_tokens} tokens`
  return null
}

/** `max_idle: auto` for an agent that cannot tell how long its provider keeps anything. */
const UNKNOWN_MINUTES = 60

/** Resuming sends all of the conversation again: past the provider's cache that costs more than a fresh start with a hand-over. */
const objectionToIdle = (idleMs: number, { id, cacheMinutes }: Served, max: SessionPolicy['sessions']['max_idle']): string | null => {
  const isOver = (minutes: number): boolean => idleMs > minutes * 60_000
  if (max !== 'auto') return isOver(max) ? `idle for more than ${max} minutes` : null
  if (cacheMinutes === 0) return `the provider of ${id} keeps no cache`
  if (cacheMinutes === undefined) return isOver(UNKNOWN_MINUTES) ? `idle for more than ${UNKNOWN_MINUTES} minutes` : null
  return isOver(cacheMinutes) ? `idle for more than the ${cacheMinutes} minutes that the provider of ${id} keeps its cache` : null
}
