/** How a turn closes: what it used, the caps it may have reached, and its record. */
import type { Policy } from './policy.ts'
import type { Ports } from './ports.ts'
import type { TurnRecord, Usage } from './record.ts'
import { redact } from './redact.ts'
import type { LimitName, Spent } from './run.ts'
import type { Served } from './served.ts'
import type { Scene } from './turn-scene.ts'
import type { Claimed } from './turns.ts'
import { tokensOf } from './usage.ts'

const spentAfter = (before: Spent, usage: Usage, milliseconds: number): Spent => ({
  tokens: before.tokens + tokensOf(usage),
  dollars: before.dollars === null && usage.dollars === null ? null : (before.dollars ?? 0) + (usage.dollars ?? 0),
  milliseconds: before.milliseconds + Math.max(0, Math.round(milliseconds)),
})

/** The cap that the run has reached, or its turn; null while both are below all. */
const limitReached = ({ limits }: Policy, turn: number, spent: Spent, used: Usage): LimitName | null => {
  if (spent.tokens >= limits.tokens) return 'tokens'
  if ((spent.dollars ?? 0) >= limits.dollars) return 'dollars'
  if (spent.milliseconds >= limits.minutes * 60_000) return 'minutes'
  if (turn >= limits.turns) return 'turns'
  if (tokensOf(used) >= limits.turn_tokens) return 'turn_tokens'
  if ((used.dollars ?? 0) >= limits.turn_dollars) return 'turn_dollars'
  return used.calls > limits.turn_calls ? 'turn_calls' : null
}

/** An agent knows what it may use, and not whether the turn's cap or the run's is the nearer. */
const capOf = (limit: LimitName, { limits }: Policy, before: Spent): LimitName => {
  if (limit === 'tokens' && limits.turn_tokens < limits.tokens - before.tokens) return 'turn_tokens'
  if (limit === 'dollars' && limits.turn_dollars < limits.dollars - (before.dollars ?? 0)) return 'turn_dollars'
  return limit
}

/** Characters of what an agent says that go into a record: an item has to stay small. */
const MOST_WHY = 2000
const MOST_SUMMARY = 4000

export interface Closing {
  ended: TurnRecord['ended']
  limit: LimitName | null
  spent: Spent
  record: (facts: Pick<TurnRecord, 'raised' | 'fixed' | 'open' | 'commit' | 'summary'>) => TurnRecord
}

/** A turn that is done, or stopped at a checkpoint, while the run has reached a cap ends at the limit: at a cap a run never approves by itself. */
export const closing = (
  ports: Pick<Ports, 'effects'>,
  { input, role, turn, fence }: Claimed,
  { policy }: Pick<Scene, 'policy'>,
  served: Served<unknown>,
  startedAt: number,
): Closing => {
  const endedAt = ports.effects.now()
  const spent = spentAfter(input.spent, served.usage, endedAt - startedAt)
  // A checkpoint that may not be gone on from is an end: what was done by then is kept like that of any other cap.
  const isLast = served.kind === 'checkpoint' && input.continuations >= policy.limits.continuations
  const reached = isLast ? 'continuations' : limitReached(policy, turn, spent, served.usage)
  const limit = served.kind === 'limit' ? capOf(served.limit, policy, input.spent) : reached
  const ended = limit === null ? served.kind : 'limit'
  const { mode, why, agent, agentVersion, fingerprint, usage } = served
  return {
    ended,
    limit,
    spent,
    record: (facts) => ({
      role,
      turn,
      round: input.round,
      fence,
      epoch: input.epoch,
      mode,
      why: redact(why).slice(0, MOST_WHY),
      agent,
      agentVersion,
      fingerprint,
      ended,
      limit,
      usage,
      startedAt: new Date(startedAt).toISOString(),
      endedAt: new Date(endedAt).toISOString(),
      ...facts,
      summary: redact(facts.summary).slice(0, MOST_SUMMARY),
    }),
  }
}
