/** One attempt of one agent at a turn: the call, the check of its answer, and one request to repair it. */
import * as z from 'zod'
import type { Agent, AgentResult, AgentTurn, SessionUse } from './agent.ts'
import { isErrorName, LoopError } from './errors.ts'
import type { Usage } from './record.ts'
import type { LimitName } from './run.ts'
import { fingerprint } from './run-id.ts'
import { addUsage, noUsage, tokensOf, unknownUsage } from './usage.ts'

/** How an attempt ended. `dead`: not the session that was asked for. `failed`: another agent may serve. */
export type Attempt<O> =
  | { kind: 'done'; output: O; sessionId: string | null; tokens: number | null }
  | { kind: 'checkpoint'; sessionId: string; tokens: number | null }
  | { kind: 'limit'; limit: LimitName; sessionId: string | null }
  | { kind: 'dead'; reason: string }
  | { kind: 'failed'; error: LoopError }

/** Adds up what all calls of a turn used, whatever became of their answers. */
export class Meter {
  total: Usage
  constructor(before: Usage | null = null) {
    this.total = before ?? noUsage()
  }
  add(usage: Usage): void {
    this.total = addUsage(this.total, usage)
  }
}

export interface AttemptOptions<O> {
  agent: Agent
  /** Everything of the call but its session and prompt; `budget` is the turn's, of which what was used is taken off. */
  turn: Omit<AgentTurn, 'session' | 'prompt'>
  session: SessionUse
  prompt: AgentTurn['prompt']
  schema: z.ZodType<O>
  meter: Meter
  now: () => number
}

/** Errors: AgentCancelled, AgentTimedOut, AgentThrottled, AgentOverloaded, AgentOutputInvalid. */
export const attempt = async <O>(options: AttemptOptions<O>): Promise<Attempt<O>> => {
  const { agent, session, prompt } = options
  const first = await callAndCheck(options, session, prompt)
  if (first.kind !== 'malformed') return first
  // The answer was paid for: the same session is asked once to put it right, and needs no new look at anything.
  const { sessionId } = first
  const again: SessionUse = sessionId !== null && session.mode !== 'none' ? { mode: 'resume', id: sessionId } : { mode: 'none' }
  const second = await callAndCheck(options, again, { kind: 'repair', task: prompt.task, problem: first.problem })
  if (second.kind === 'malformed')
    throw new LoopError('AgentOutputInvalid', `${agent.id} answered twice with output that does not fit the schema: ${second.problem}`)
  return second
}

type Checked<O> = Attempt<O> | { kind: 'malformed'; problem: string; sessionId: string | null }

const callAndCheck = async <O>(options: AttemptOptions<O>, session: SessionUse, prompt: AgentTurn['prompt']): Promise<Checked<O>> => {
  const { agent, schema } = options
  const result = await call(options, session, prompt)
  if (result.kind === 'failed') return failure(agent, result, options.turn.signal)
  if (result.kind === 'refused') return { kind: 'failed', error: new LoopError('AgentRefused', `${agent.id} refused: ${result.reason}`) }
  if (result.kind === 'session_lost') {
    if (session.mode === 'resume') return { kind: 'dead', reason: result.reason }
    return { kind: 'failed', error: new LoopError('AgentFailed', `${agent.id} lost a session that had just begun: ${result.reason}`) }
  }
  // It was given a prompt that leans on a memory: under another id it has none, so its answer is worth nothing.
  const isOther = session.mode === 'resume' && result.sessionId !== session.id
  if (isOther && !(result.kind === 'limit' && result.sessionId === null))
    return { kind: 'dead', reason: 'it answered under another session' }
  if (result.kind === 'checkpoint') return { kind: 'checkpoint', sessionId: result.sessionId, tokens: result.context ?? result.usage.input }
  if (result.kind === 'limit') return { kind: 'limit', limit: result.limit, sessionId: result.sessionId }
  const parsed = schema.safeParse(result.output)
  return parsed.success
    ? { kind: 'done', output: parsed.data, sessionId: result.sessionId, tokens: result.context ?? result.usage.input }
    : { kind: 'malformed', problem: problemOf(parsed.error), sessionId: result.sessionId }
}

const MOST_ISSUES = 20

/** What is wrong with an answer, in words and cut: all of it may be. */
const problemOf = ({ issues }: z.ZodError): string => z.prettifyError({ issues: issues.slice(0, MOST_ISSUES) }).slice(0, 2000)

/** What may be retried, and what ran out of time or was called off, is thrown: neither is a reason for another session. */
const failure = (agent: Agent, result: Extract<AgentResult, { kind: 'failed' }>, signal: AbortSignal): Attempt<never> => {
  const error = new LoopError(signal.aborted ? 'AgentCancelled' : result.error, `${agent.id}: ${result.reason}`)
  if (error.name !== 'AgentFailed') throw error
  return { kind: 'failed', error }
}

const call = async <O>(options: AttemptOptions<O>, session: SessionUse, prompt: AgentTurn['prompt']): Promise<AgentResult> => {
  const { agent, turn, meter, now } = options
  const { signal, deadline } = turn
  if (signal.aborted) throw new LoopError('AgentCancelled')
  if (now() >= deadline) throw new LoopError('AgentTimedOut', `No time was left to ask ${agent.id}.`)
  const budget = {
    tokens: Math.max(0, turn.budget.tokens - tokensOf(meter.total)),
    dollars: Math.max(0, turn.budget.dollars - (meter.total.dollars ?? 0)),
    calls: Math.max(0, turn.budget.calls - meter.total.calls),
  }
  const result = await agent.run({ ...turn, session, prompt, budget }).catch(resultOfThrown)
  meter.add(result.usage)
  return 'reason' in result ? { ...result, reason: withoutId(result.reason, session) } : result
}

/** Agents that complain of a session name it; its id is for the role's item alone, so that people are told its fingerprint. */
const withoutId = (reason: string, session: SessionUse): string =>
  session.mode === 'none' || !session.id ? reason : reason.replaceAll(session.id, fingerprint(session.id))

type FailedName = Extract<AgentResult, { kind: 'failed' }>['error']
const FAILED: readonly FailedName[] = ['AgentThrottled', 'AgentOverloaded', 'AgentTimedOut', 'AgentCancelled', 'AgentFailed']

/** An agent should answer and not throw; one that does has failed all the same, with what it says. */
const resultOfThrown = (thrown: unknown): AgentResult => {
  const name = thrown instanceof Error && isErrorName(thrown.name) ? FAILED.find((known) => known === thrown.name) : undefined
  const reason = thrown instanceof Error ? thrown.message : String(thrown)
  return { kind: 'failed', error: name ?? 'AgentFailed', reason, usage: unknownUsage() }
}
