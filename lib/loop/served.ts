/** What a turn is taken with, how a call of an agent begins, and what is left when the turn is done. */
import type * as z from 'zod'
import type { Agent, Budget, SessionUse, Task } from './agent.ts'
import type { Checkpoint, SessionRecord } from './items.ts'
import type { RunRecord, TurnMode, Usage } from './record.ts'
import type { LimitName } from './run.ts'
import type { TranscriptCopy } from './transcript.ts'
import type { Claimed } from './turns.ts'
import type { Workspace } from './workspace.ts'

/** What a turn is taken with. */
export interface RoleTurn<O> {
  claimed: Claimed
  /** The run's record as of the turn's start: a hand-over is made from it. */
  record: RunRecord
  /** `handOver` is filled in where the session has to be told. */
  task: Task
  schema: z.ZodType<O>
  workspace: Workspace
  /** ms since 1970 */
  deadline: number
  signal: AbortSignal
  progress: (message: string) => void
  budget: Budget
  /** Why the checkpoint cannot be gone on from, where its uncommitted work is missing. */
  lost?: string
}

/** How the turn ended, and what its record and its item are to hold. */
export type Served<O> = ServedBy & ({ kind: 'done'; output: O } | { kind: 'checkpoint' } | { kind: 'limit'; limit: LimitName })

export interface ServedBy {
  mode: TurnMode
  why: string
  agent: string
  agentVersion: string
  fingerprint: string | null
  /** All calls of the turn: failed, repaired and thrown away ones too, and those of attempts that gave the lease back. */
  usage: Usage
  /** For the write that finishes the turn; its transcript is stored by then. */
  session: SessionRecord | null | 'keep'
  /** Without the fixer's work: whoever saves that fills `work` in. */
  checkpoint: Checkpoint | null
}

/** How a call of an agent begins. */
export interface Opening {
  use: SessionUse
  mode: TurnMode
  why: string
  transcript: TranscriptCopy
}

/** What is left of a session when its turn is done. */
export interface Leftover {
  agent: Agent
  id: string
  transcript: string
  checksum: string
  tokens: number | null
  startedAt: string
}

/** The turn's access to its role's session. */
export interface Sessions {
  /** Whether session ids are anything to this turn: their fingerprints go into the history. */
  known: boolean
  open(agent: Agent): Promise<Opening>
  fresh(agent: Agent, why: string): Opening
  record(left: Leftover): SessionRecord | null
}
