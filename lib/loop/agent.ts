/** The agent interface: what the loop asks of a reviewer or fixer, whatever runs behind it. One folder an agent below lib/agents/. */
import type { TurnRole } from '../names.ts'
import type { DiffFile } from './diff.ts'
import type { TrackedFinding } from './finding.ts'
import type { Policy } from './policy.ts'
import type { Usage } from './record.ts'
import type { LimitName } from './run.ts'
import type { EditFiles, ReadFiles } from './workspace.ts'

export interface Capabilities {
  /** A later turn can go on in the session of an earlier one. */
  resume: boolean
  /** The session id is ours to choose (`session.id` is then given with mode `start`). */
  ownIds: boolean
  /** The answer fits the schema by the provider's own means. */
  structuredOutput: boolean
  /** It can stop in the middle of a turn and go on later. */
  checkpoint: boolean
  /** It can edit files, so it can be a fixer. */
  edits: boolean
}

/** Working copy of a session's transcript. The stored object is immutable; the turn that finishes stores this copy as a new one. */
export interface Transcript {
  append(entry: unknown): void
  history(): readonly unknown[]
  reset(): void
}

/** Rebuilt from the run's record for a session that has to start in the middle of a run; never the other role's words. */
export interface HandOver {
  round: number
  outstanding: TrackedFinding[]
  tried: { id: string; commit: string | null; note: string | null }[]
  /** `note` is the person's. */
  declined: { id: string; rule: string; file: string; text: string; note: string | null }[]
}

interface TaskBase {
  /** Merge base against the commit that stands; files under `ignore` are left out. */
  diff: DiffFile[]
  policy: Policy
  handOver: HandOver | null
}
export interface ReviewTask extends TaskBase {
  kind: 'review' | 're-review' | 'certify'
  /** Messages of the change's commits, the newest first. */
  messages: string[]
  /** Outstanding findings to account for, with `re-review`; empty otherwise. */
  outstanding: TrackedFinding[]
  /** What a person took out, with `re-review`; empty otherwise. It is not to be raised again. */
  declined: HandOver['declined']
}
export interface FixTask extends TaskBase {
  kind: 'fix'
  /** The findings to fix, and only these. */
  findings: TrackedFinding[]
  /** A person's notes by finding id; `''` is the note for all. */
  notes: Record<string, string>
}
export type Task = ReviewTask | FixTask

/** What the session is given to work on. */
export type Prompt =
  | { kind: 'task'; task: Task }
  /** Go on after a checkpoint: no new prompt. The task is the same as before, for agents that need it again. */
  | { kind: 'continue'; task: Task }
  /** The answer did not fit the schema: one request to repair it. */
  | { kind: 'repair'; task: Task; problem: string }

export type SessionUse =
  /** No session: nothing is kept past the turn. An id of ours may be given for an agent that wants one. */
  { mode: 'none' } | { mode: 'start'; id: string | null } | { mode: 'resume'; id: string }

export interface Budget {
  tokens: number
  dollars: number
  calls: number
}

export interface AgentTurn {
  role: TurnRole
  runId: string
  turn: number
  session: SessionUse
  transcript: Transcript
  prompt: Prompt
  /** Absolute path of the workspace. */
  root: string
  files: ReadFiles
  /** null for roles that only read. */
  edits: EditFiles | null
  /** When the invocation has to be over, ms since 1970; an agent that can, checkpoints before. */
  deadline: number
  signal: AbortSignal
  /** What the turn may still use. `calls` are calls of the model. */
  budget: Budget
  progress: (message: string) => void
}

/**
 * How a turn of an agent ended. `sessionId` is the id that served, null where there was none. `context` is how many tokens the
 * session has grown to, where the agent can tell it from what the turn used.
 */
export type AgentResult =
  /** `output` is not yet checked: the loop validates it against reviewOutput or fixOutput. */
  | { kind: 'done'; output: unknown; usage: Usage; sessionId: string | null; context?: number }
  | { kind: 'checkpoint'; usage: Usage; sessionId: string; context?: number }
  /** Unknown id, transcript missing or damaged, made by another version: rule 6 decides what follows. */
  | { kind: 'session_lost'; reason: string; usage: Usage }
  | { kind: 'limit'; limit: LimitName; usage: Usage; sessionId: string | null }
  | { kind: 'refused'; reason: string; usage: Usage }
  | {
      kind: 'failed'
      error: 'AgentThrottled' | 'AgentOverloaded' | 'AgentTimedOut' | 'AgentCancelled' | 'AgentFailed'
      reason: string
      usage: Usage
    }

export interface Agent {
  readonly id: string
  readonly version: string
  readonly capabilities: Capabilities
  /** Why it cannot resume a session, where that depends on more than its name. */
  readonly whyCold?: string
  /** Minutes that its provider keeps a conversation in a cache, 0 for not at all: what `sessions.max_idle: auto` means. Left out where nobody can tell. */
  readonly cacheMinutes?: number
  run(turn: AgentTurn): Promise<AgentResult>
}

/** Finds agents by name. Throws `AgentUnavailable` with what to install. */
export interface Agents {
  /** Those of `order` that can run here, in that order; at least one. */
  find(order: readonly string[]): Promise<[Agent, ...Agent[]]>
}
