/** Sessions of one run: the only way from a role to its session, and from a turn to the agent that takes it. */
import type { Role } from '../names.ts'
import type { Agent, SessionUse } from './agent.ts'
import { attachment, isKept } from './attachment.ts'
import { LoopError } from './errors.ts'
import type { SessionId, SessionRecord } from './items.ts'
import type { Policy } from './policy.ts'
import type { Ports } from './ports.ts'
import type { TurnMode } from './record.ts'
import { serveTurn } from './serve-turn.ts'
import type { Leftover, RoleTurn, Served, Sessions } from './served.ts'
import { loadTranscript, TranscriptCopy } from './transcript.ts'
import type { Claimed } from './turns.ts'

/** Days after its last turn that a session can still be resumed; Park moves that out. */
const SESSION_DAYS = 7

/** A session as a turn of `R` gets it. The brand keeps one role's session from being handed to another. */
export interface RoleSession<R extends Role> {
  readonly role: R
  /** The stored id that is resumed; null where a new session starts or none is kept. */
  readonly id: SessionId<R> | null
  readonly use: SessionUse
  readonly mode: TurnMode
  readonly why: string
  /** A working copy: what is stored stays as it is. */
  readonly transcript: TranscriptCopy
}

type SessionPorts = Pick<Ports, 'artifacts' | 'effects'>
type SessionPolicy = Pick<Policy, 'session_reuse' | 'sessions'>

export class RunSessions {
  readonly #ports: SessionPorts
  readonly #runId: string
  readonly #policy: SessionPolicy

  constructor(ports: SessionPorts, { runId, policy }: { runId: string; policy: SessionPolicy }) {
    this.#ports = ports
    this.#runId = runId
    this.#policy = policy
  }

  /**
   * The role's session for a claimed turn: the stored one where it may be attached and its transcript is whole, else a new one,
   * else none for an agent that keeps none; with the reason. Errors: StoreUnavailable.
   */
  async getOrCreate<R extends Role>(role: R, claimed: Claimed, agent: Agent): Promise<RoleSession<R>> {
    this.#check(role, claimed)
    const { item, input } = claimed
    const choice = attachment({ role, agent, policy: this.#policy, item, cycle: input.round, now: this.#ports.effects.now() })
    const { why } = choice
    if (choice.use !== 'resume') return this.#fresh(role, agent, choice.use === 'start' ? 'started' : 'cold', why)
    const loaded = await loadTranscript(this.#ports.artifacts, choice.session)
    if ('lost' in loaded) return this.#fresh(role, agent, 'fallback', loaded.lost)
    const id = choice.session.id as SessionId<R>
    return { role, id, use: { mode: 'resume', id }, mode: 'resumed', why, transcript: loaded.transcript }
  }

  /**
   * Takes a turn of the role with the first of `agents` that serves, in its session. A dead session costs nothing but a fresh one:
   * the workspace goes back to the turn's start and the same turn is run once more. Stores the transcript, not the item: what
   * the item is to hold is in the answer.
   * Errors: AgentThrottled, AgentOverloaded, AgentTimedOut, AgentCancelled, AgentFailed, AgentRefused, AgentOutputInvalid, each with
   * `usage` in its details; StoreUnavailable.
   */
  async run<O>(role: Role, agents: readonly [Agent, ...Agent[]], turn: RoleTurn<O>): Promise<Served<O>> {
    const { claimed } = turn
    this.#check(role, claimed)
    const sessions: Sessions = {
      known: this.#policy.session_reuse,
      open: (agent) => this.getOrCreate(role, claimed, agent),
      fresh: (agent, why) => this.#fresh(role, agent, 'fallback', why),
      record: (left) => (isKept(role, this.#policy) && left.agent.capabilities.resume ? this.#record(role, claimed, left) : null),
    }
    return serveTurn(this.#ports, sessions, agents, turn)
  }

  #check(role: Role, { item }: Claimed): void {
    if (item.runId !== this.#runId || item.role !== role)
      throw new LoopError('Unexpected', `A turn of the ${item.role} of ${item.runId} asked for the ${role}'s session of ${this.#runId}.`)
  }

  #fresh<R extends Role>(role: R, agent: Agent, mode: TurnMode, why: string): RoleSession<R> {
    const hasSession = this.#policy.session_reuse && agent.capabilities.resume
    const use: SessionUse = hasSession
      ? { mode: 'start', id: agent.capabilities.ownIds ? this.#ports.effects.nonce() : null }
      : { mode: 'none' }
    return { role, id: null, use, mode, why, transcript: new TranscriptCopy() }
  }

  #record(role: Role, { item, input }: Claimed, { agent, id, transcript, checksum, tokens, startedAt }: Leftover): SessionRecord {
    const now = this.#ports.effects.now()
    const before = item.session?.id === id ? item.session : null
    return {
      role,
      agent: agent.id,
      agentVersion: agent.version,
      id,
      cycle: before?.cycle ?? input.round,
      transcript,
      checksum,
      tokens,
      startedAt: before?.startedAt ?? startedAt,
      usedAt: new Date(now).toISOString(),
      expiresAt: new Date(now + SESSION_DAYS * 86_400_000).toISOString(),
    }
  }
}

/** A turn outside the loop (Certify): no session is loaded or kept; a checkpoint lives for the turn that continues it. Errors as `run`. */
export const runWithoutSession = <O>(ports: SessionPorts, agents: readonly [Agent, ...Agent[]], turn: RoleTurn<O>): Promise<Served<O>> =>
  serveTurn(ports, WITHOUT, agents, turn)

const WITHOUT: Sessions = {
  known: false,
  open: async () => ({ use: { mode: 'none' }, mode: 'cold', why: 'a certifier has no session', transcript: new TranscriptCopy() }),
  fresh: (_agent, why) => ({ use: { mode: 'none' }, mode: 'fallback', why, transcript: new TranscriptCopy() }),
  record: () => null,
}
