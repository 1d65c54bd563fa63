/** What the tables hold. Every item is written whole under `rev`, its version: a write names the version it read. */
import * as z from 'zod'
import { ROLES, TURN_ROLES, type Role } from '../names.ts'
import { decision, question } from './decision.ts'
import { declinedFinding } from './finding.ts'
import { turnRecord, usage } from './record.ts'
import { commitId, runId, runRequest, runState, verdict } from './run.ts'

/** Roles never meet, in types: a session id is branded with its role. */
export type SessionId<R extends Role = Role> = string & { readonly __role: R }

/** The least one needs to resume. Never a prompt or a transcript. */
export const sessionRecord = z.strictObject({
  role: z.enum(ROLES),
  agent: z.string(),
  agentVersion: z.string(),
  id: z.string(),
  /** Round of the cycle in which it was started, for `sessions.fixer: cycle`. */
  cycle: z.int().min(0),
  transcript: z.string(),
  checksum: z.string(),
  /** Input tokens of its last call, for `sessions.max_tokens`; null when unknown. */
  tokens: z.int().min(0).nullable(),
  startedAt: z.iso.datetime(),
  usedAt: z.iso.datetime(),
  /** Past this the session is void; the item's fence and turn are not. */
  expiresAt: z.iso.datetime(),
})
export type SessionRecord = z.infer<typeof sessionRecord>

/** What a turn that stopped at a checkpoint leaves for the turn that continues it, and for that one alone. */
export const checkpoint = z.strictObject({
  turn: z.int().min(1),
  agent: z.string(),
  agentVersion: z.string(),
  id: z.string(),
  transcript: z.string(),
  checksum: z.string(),
  /** Artifact key of the fixer's uncommitted work; null where there is none. */
  work: z.string().nullable(),
})
export type Checkpoint = z.infer<typeof checkpoint>

/** Item of table Sessions, key `<runId>#<role>`: session, fence, last finished turn, turn in progress. */
export const turnItem = z.strictObject({
  runId,
  role: z.enum(TURN_ROLES),
  rev: z.int().min(1),
  /** Tells a write of ours whose answer was lost from somebody else's. */
  nonce: z.string(),
  epoch: z.int().min(0),
  fence: z.int().min(0),
  /** A tombstone: the run has ended, nothing runs any more. */
  closed: z.boolean(),
  session: sessionRecord.nullable(),
  checkpoint: checkpoint.nullable(),
  done: z.strictObject({ turn: z.int().min(1), state: runState, record: turnRecord }).nullable(),
  running: z
    .strictObject({
      turn: z.int().min(1),
      /** The state the turn was given: entered again, it gets the same. */
      input: runState,
      /** Until when, in ms since 1970, nobody else may claim the turn; 0 when it was given back. */
      leaseUntil: z.int().min(0),
      /** The process that holds the data folder; null in AWS. A lease of an earlier owner is over. */
      owner: z.string().nullable(),
      /** What earlier attempts of the turn used that gave their lease back: a failed call counts. */
      used: usage.optional(),
    })
    .nullable(),
  failed: z.strictObject({ turn: z.int().min(1), error: z.string(), message: z.string() }).nullable(),
  /** What attempts used that no finished turn tells: those of a turn that failed for good, or that the run's end left unfinished. */
  unfinished: usage.optional(),
  /** Kept when the session itself is gone. */
  fingerprints: z.array(z.string()),
  /** DynamoDB's TTL attribute, seconds since 1970. */
  ttl: z.int(),
})
export type TurnItem = z.infer<typeof turnItem>

/** Item of table Runs, key (`<runId>`, `run`). */
export const runItem = z.strictObject({
  runId,
  rev: z.int().min(1),
  nonce: z.string(),
  request: runRequest,
  status: z.enum(['running', 'parked', 'ended']),
  epoch: z.int().min(1),
  /** Artifact key of the bundle that holds its commits; null where the repository is fetched. */
  bundle: z.string().nullable().default(null),
  /** Who or what started it: `cli`, `api`, `schedule`. */
  startedBy: z.string(),
  question: question.nullable(),
  /** Task token of the waiting Park state. Never leaves the store. */
  token: z.string().nullable(),
  decision: decision.nullable(),
  /** The commit to push and where, recorded before it is pushed. */
  publishing: z.strictObject({ ref: z.string(), commit: commitId }).nullable(),
  /** Where the results are: keys of the reports by format. */
  reports: z.record(z.string(), z.string()),
  /** The run's record as of the latest step that wrote the run item. */
  record: z.string().nullable(),
  verdict: verdict.nullable(),
  failure: z.strictObject({ error: z.string(), message: z.string() }).nullable(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
  /** Close has done all that it does. Until then the run has ended, and its Close may have been cut off. */
  closed: z.boolean().default(false),
  ttl: z.int(),
})
export type RunItem = z.infer<typeof runItem>

/** A run as a list shows it. */
export const runSummary = runItem.pick({
  runId: true,
  request: true,
  status: true,
  startedBy: true,
  verdict: true,
  createdAt: true,
  updatedAt: true,
  endedAt: true,
})
export type RunSummary = z.infer<typeof runSummary>

/** Item of table Runs, key (`branch#<hash of repository and branch>`, `night`): up to where nights have certified the branch. */
export const nightItem = z.strictObject({
  key: z.string(),
  rev: z.int().min(1),
  nonce: z.string(),
  certified: commitId,
  /** Tip of the branch that holds the nights' fixes, as an approved run left it; null where it left none. */
  tip: commitId.nullable(),
  /** Up to where the branch was certified before the first of the fixes there. */
  from: commitId.nullable(),
  run: runId,
  ttl: z.int(),
})
export type NightItem = z.infer<typeof nightItem>

/** Item of table Runs, key (`branch#<hash of repository and branch>`, `branch`): one run a branch at a time. */
export const branchItem = z.strictObject({
  key: z.string(),
  rev: z.int().min(1),
  nonce: z.string(),
  /** The run that holds the branch; null when none does. */
  active: runId.nullable(),
  head: commitId.nullable(),
  /** The run that holds the branch has its item: whoever wants the branch finds what to end first. */
  begun: z.boolean().default(false),
  /** Commits that we published, and the run: a head of ours starts nothing. */
  published: z.array(z.strictObject({ commit: commitId, run: runId })),
  /** Ids of findings that published runs fixed: found again where the run's commits were merged, a person took the fix out. */
  fixed: z.array(z.strictObject({ run: runId, findings: z.array(z.string()) })),
  /** What people declined on the branch: not raised again unless its code changes. */
  declined: z.array(declinedFinding).default([]),
  ttl: z.int(),
})
export type BranchItem = z.infer<typeof branchItem>

/** What a delivery of a webhook came to. */
export const deliveryAnswer = z.strictObject({
  outcome: z.enum(['started', 'known', 'decided', 'aborted', 'ignored', 'refused', 'busy']),
  runId: runId.nullable(),
  /** For people: why nothing was done. */
  why: z.string().nullable(),
})
export type DeliveryAnswer = z.infer<typeof deliveryAnswer>

/** Item of table Runs, key (`delivery#<id>`, `delivery`): a delivery happens once, however often it is made. */
export const deliveryItem = z.strictObject({
  id: z.string(),
  rev: z.int().min(1),
  nonce: z.string(),
  event: z.string(),
  /** Artifact key of the body as it came in. */
  body: z.string(),
  /** Until when, in ms since 1970, nobody else works on it; 0 when it was given back. */
  leaseUntil: z.int().min(0),
  answer: deliveryAnswer.nullable(),
  at: z.iso.datetime(),
  ttl: z.int(),
})
export type DeliveryItem = z.infer<typeof deliveryItem>
