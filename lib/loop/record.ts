/** The run's record: immutable, one object a turn, made from the one before. Hand-overs, reports and questions come from it. */
import * as z from 'zod'
import { TURN_ROLES } from '../names.ts'
import { decision } from './decision.ts'
import { trackedFinding } from './finding.ts'
import { skippedFile } from './output.ts'
import { commitId, limitName } from './run.ts'

/** Tokens and money of one turn. Zero is a number; what the agent cannot tell is null. */
export const usage = z.strictObject({
  /** All input tokens: those that were read from the provider's cache or written to it are among them. */
  input: z.int().min(0).nullable(),
  output: z.int().min(0).nullable(),
  cacheRead: z.int().min(0).nullable(),
  cacheWrite: z.int().min(0).nullable(),
  dollars: z.number().min(0).nullable(),
  /** Calls of the agent, failed ones included. */
  calls: z.int().min(0),
})
export type Usage = z.infer<typeof usage>

export const turnMode = z.enum(['cold', 'started', 'resumed', 'continued', 'fallback'])
export type TurnMode = z.infer<typeof turnMode>

export const turnRecord = z.strictObject({
  role: z.enum(TURN_ROLES),
  turn: z.int().min(1),
  round: z.int().min(0),
  fence: z.int().min(1),
  epoch: z.int().min(1),
  mode: turnMode,
  /** Why that mode: shown to people. */
  why: z.string(),
  agent: z.string(),
  agentVersion: z.string(),
  /** Hash of the session id that served; null where there was none. */
  fingerprint: z.string().nullable(),
  ended: z.enum(['done', 'checkpoint', 'limit']),
  limit: limitName.nullable(),
  usage,
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime(),
  /** Findings raised, found fixed, and open and blocking after the turn. */
  raised: z.int().min(0),
  fixed: z.int().min(0),
  open: z.int().min(0),
  commit: commitId,
  summary: z.string(),
})
export type TurnRecord = z.infer<typeof turnRecord>

/** A verdict without blocking findings on an exact commit, by a reviewer that had no session. */
export const certificate = z.strictObject({
  commit: commitId,
  turn: z.int().min(1),
  agent: z.string(),
  agentVersion: z.string(),
  at: z.iso.datetime(),
})

export const fixCommit = z.strictObject({
  id: commitId,
  turn: z.int().min(1),
  round: z.int().min(1),
  message: z.string(),
  files: z.array(z.string()),
  /** Files changed that no finding of the turn named: shown to people. */
  outside: z.array(z.string()),
  findings: z.array(z.string()),
})
export type FixCommit = z.infer<typeof fixCommit>

export const runRecord = z.strictObject({
  findings: z.array(trackedFinding),
  turns: z.array(turnRecord),
  decisions: z.array(decision),
  certificates: z.array(certificate),
  commits: z.array(fixCommit),
  /** Files that the latest review or certification did not look at. */
  skipped: z.array(skippedFile),
  /** Said to people, e.g. that a settings file which only the head has is not used. */
  notices: z.array(z.string()),
  /** Ids of the findings that the fix cycle under way, or the last one, was given. */
  given: z.array(z.string()),
})
export type RunRecord = z.infer<typeof runRecord>

export const emptyRecord = (): RunRecord => ({
  findings: [],
  turns: [],
  decisions: [],
  certificates: [],
  commits: [],
  skipped: [],
  notices: [],
  given: [],
})
