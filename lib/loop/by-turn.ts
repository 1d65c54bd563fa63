/** A run's report looked at from two sides: which session each turn had, and what each turn cost. */
import type { TurnRole } from '../names.ts'
import type { TurnRecord, Usage } from './record.ts'
import type { Report } from './report.ts'

export interface SessionOfTurn extends Pick<
  TurnRecord,
  'turn' | 'round' | 'role' | 'mode' | 'why' | 'agent' | 'agentVersion' | 'fingerprint'
> {
  /** Milliseconds from the beginning of the session's first turn to the beginning of this one; null where it had no session. */
  age: number | null
  /** Milliseconds that the session was not used before this turn; null where it had none, or a new one. */
  idle: number | null
}

/** Each turn with its session. */
export const sessionsOfTurns = ({ turns }: Pick<Report, 'turns'>): SessionOfTurn[] =>
  turns.map((one, index) => {
    const { turn, round, role, mode, why, agent, agentVersion, fingerprint, startedAt } = one
    const before = turns.slice(0, index).filter((other) => other.role === role && other.fingerprint === fingerprint)
    const [first, last] = [before[0] ?? one, before.at(-1)]
    const since = (time: string): number => Math.max(0, Date.parse(startedAt) - Date.parse(time))
    const times =
      fingerprint === null ? { age: null, idle: null } : { age: since(first.startedAt), idle: last ? since(last.endedAt) : null }
    return { turn, round, role, mode, why, agent, agentVersion, fingerprint, ...times }
  })

const FIELDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'dollars'] as const
export type CostField = (typeof FIELDS)[number]

/** What is known of a sum, and how many turns could not tell. */
export interface Sum {
  known: number
  unknownTurns: number
}
export type Sums = Record<CostField, Sum> & { turns: number; calls: number }

/** An agent that was not called used nothing; one that was called and cannot tell is null. */
const used = (usage: Usage, field: CostField): number | null => usage[field] ?? (usage.calls === 0 ? 0 : null)

const sumOf = (turns: readonly TurnRecord[]): Sums => {
  const sum = (field: CostField): Sum => {
    const values = turns.map(({ usage }) => used(usage, field))
    return {
      known: values.reduce<number>((total, value) => total + (value ?? 0), 0),
      unknownTurns: values.filter((value) => value === null).length,
    }
  }
  return {
    turns: turns.length,
    calls: turns.reduce((total, { usage }) => total + usage.calls, 0),
    input: sum('input'),
    output: sum('output'),
    cacheRead: sum('cacheRead'),
    cacheWrite: sum('cacheWrite'),
    dollars: sum('dollars'),
  }
}

export interface RunCost {
  turns: (Pick<TurnRecord, 'turn' | 'role' | 'agent' | 'mode'> & Record<CostField, number | null> & { calls: number })[]
  roles: Partial<Record<TurnRole, Sums>>
  total: Sums
  /** What attempts used that came to no turn: input and output tokens, dollars where anybody could tell. */
  unfinished: { tokens: number; dollars: number | null }
}

/** What a run cost by turn and by role. Input tokens have those among them that were read from a cache or written to one. */
export const costOfRun = ({ turns, spent }: Pick<Report, 'turns' | 'spent'>): RunCost => {
  const total = sumOf(turns)
  const roles = [...new Set(turns.map(({ role }) => role))]
  return {
    turns: turns.map(({ turn, role, agent, mode, usage }) => ({
      turn,
      role,
      agent,
      mode,
      input: used(usage, 'input'),
      output: used(usage, 'output'),
      cacheRead: used(usage, 'cacheRead'),
      cacheWrite: used(usage, 'cacheWrite'),
      dollars: used(usage, 'dollars'),
      calls: usage.calls,
    })),
    roles: Object.fromEntries(roles.map((role) => [role, sumOf(turns.filter((turn) => turn.role === role))])),
    total,
    unfinished: {
      tokens: Math.max(0, spent.tokens - total.input.known - total.output.known),
      dollars: spent.dollars === null ? null : Math.max(0, spent.dollars - total.dollars.known),
    },
  }
}
