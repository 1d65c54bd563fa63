/** What a forge is told of a run, and the board that remembers what it was told. Adapters: lib/forge/. */
import * as z from 'zod'
import type { Decision, Question } from './decision.ts'
import type { Comparison } from './diff.ts'
import type { Report } from './report.ts'
import { runId, type RunRequest } from './run.ts'

/** Something that was made on the forge. */
export const told = z.strictObject({
  /** The forge's own id of it. */
  id: z.string(),
  /** Where people see it. */
  url: z.string().nullable(),
})
export type Told = z.infer<typeof told>

/** Item of table Runs, key (`<runId>`, `forge`): what was told of the run, so that telling it again changes nothing. */
export const forgeItem = z.strictObject({
  runId,
  rev: z.int().min(1),
  nonce: z.string(),
  /** Who tells just now: until then (ms since 1970) nobody else does, unless the data folder has another owner by now. */
  busy: z.strictObject({ until: z.int().min(0), owner: z.string().nullable() }).nullable(),
  /** The run was seen at work: it does not wait in a queue any more. */
  begun: z.boolean(),
  /** By name: what was made, and a hash of what it says. */
  pieces: z.record(z.string(), z.strictObject({ ...told.shape, says: z.string().nullable() })),
  /** By name: what the forge would not take when it was told last. Shown to people; the run goes on without. */
  refused: z.record(z.string(), z.strictObject({ error: z.string(), message: z.string(), at: z.iso.datetime() })),
  ttl: z.int(),
})
export type ForgeItem = z.infer<typeof forgeItem>

/** One thing that a forge shows: a check, a comment, a review. */
export interface Piece {
  /** Everything it says: it is told again only where this is other than what was told. */
  says: string
  /** Looks for it on the forge, for the case that it was made and nobody recorded it. */
  find: (signal: AbortSignal) => Promise<Told | null>
  create: (signal: AbortSignal) => Promise<Told>
  /** null: what was said once stays as it is. */
  update: ((id: string, signal: AbortSignal) => Promise<void>) | null
}

export interface Board {
  /** What is recorded under a name. */
  known(name: string): Told | null
  /**
   * Brings a piece in line: makes it, mends it, or leaves it as it is; null where the forge will not take it, which is recorded.
   * Errors: ForgeUnavailable, ForgeThrottled, StoreConflict (another worker tells by now).
   */
  bring(name: string, piece: Piece): Promise<Told | null>
}

/** How a run stands, as far as people outside care. The same run tells the same, whoever asks. */
export interface News {
  runId: string
  request: RunRequest
  /** `ended` as soon as there is a verdict. */
  phase: 'queued' | 'running' | 'parked' | 'ended'
  report: Report
  question: Question | null
  decision: Decision | null
  /** The commit that stands: the head, or the last fix commit. */
  commit: string
  /** Where the fix commits were put; null where they were not. */
  pushed: { ref: string; commit: string } | null
  /** Errors: ArtifactLost, GitFailed, GitTimedOut. */
  compare(signal: AbortSignal): Promise<Comparison | null>
}

/** A forge that can be told how runs stand. */
export interface Teller {
  /** Whether the forge of a repository takes anything but branches. */
  tells(repository: string): boolean
  /**
   * Brings the forge in line with the news, piece by piece. What it throws of class `user` or `service` is recorded, and told no more
   * of this time; the rest is tried again.
   */
  tell(news: News, board: Board, signal: AbortSignal): Promise<void>
}

/** Whether a run that ended so has put its fix commits on a branch. */
export const isPublished = (outcome: Report['outcome']): boolean => outcome === 'approved' || outcome === 'changes-requested'
