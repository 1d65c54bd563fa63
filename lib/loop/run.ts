/** The run: what is asked for, and the state that travels through the state machine. */
import * as z from 'zod'
import { MAX_PARK_DAYS, OUTCOMES, STEPS } from '../names.ts'
import { isBranchName } from './branch-name.ts'
import { settings } from './policy.ts'

export const runId = z.string().regex(/^r-[0-9a-f]{16}$/)
export const commitId = z.string().regex(/^[0-9a-f]{40}$/)

const branchName = z.string().min(1).max(255).refine(isBranchName, 'no name that git allows for a branch')
/** A credential in an address would end up in the store, in the report and in every log. */
const hasCredential = (repository: string): boolean => /^[a-z][a-z0-9+.-]*:\/\/[^/]*@/i.test(repository)

/** A review by the clock: of what came on the branch since it was last certified. */
const night = z.strictObject({
  since: commitId.nullable(),
  from: commitId.nullable(),
  certifiedTip: commitId.nullable(),
  isDefault: z.boolean(),
  most: z.strictObject({ commits: z.int().min(1), files: z.int().min(1), bytes: z.int().min(1) }),
})

/** What starts a run, from any door. Canonical: the run id is a hash of it (`runIdOf`). */
export const runRequest = z.strictObject({
  /** A https URL, or (embedded engine only) an absolute path. Never with a credential in it. */
  repository: z
    .string()
    .min(1)
    .max(2048)
    .refine((text) => !hasCredential(text), 'a credential stands in the address: give the token by itself'),
  /** Branch to review, without refs/heads/; null where a local head is no branch (a bare commit). */
  branch: branchName.nullable(),
  /** Tip of the base branch: settings come from here. The diff is from the merge base. */
  base: commitId,
  head: commitId,
  /** Overrides of the settings file, as given by whoever starts the run. */
  overrides: settings.default({}),
  attempt: z.int().min(1).default(1),
  /** Branch to put the fixes on; null: `reviewloop/<run>`. */
  publishTo: branchName.nullable().default(null),
  night: z.exactOptional(night),
})
export type RunRequest = z.infer<typeof runRequest>

/** Each is the key of `limits` that was reached. */
export const LIMITS = ['continuations', 'tokens', 'dollars', 'minutes', 'turns', 'turn_tokens', 'turn_dollars', 'turn_calls'] as const
export const limitName = z.enum(LIMITS)
export type LimitName = z.infer<typeof limitName>

/** Counts of the outstanding set that `nextStep` decides on. "Blocking" is as the policy says. */
export const openCounts = z.strictObject({
  /** Blocking findings whose action is auto-fix. */
  autoFix: z.int().min(0),
  /** All other blocking findings. */
  other: z.int().min(0),
  /** Blocking findings left unfixed twice, or back after a person took them out. */
  stuck: z.int().min(0),
})
export type OpenCounts = z.infer<typeof openCounts>

/** How the last step ended. This and the policy is all that `nextStep` looks at. */
export const lastStep = z.discriminatedUnion('step', [
  z.strictObject({ step: z.literal('Prepare'), empty: z.boolean() }),
  z.strictObject({
    step: z.enum(['Review', 'Certify']),
    ended: z.enum(['done', 'checkpoint', 'limit']),
    open: openCounts,
    limit: limitName.nullable(),
  }),
  z.strictObject({
    step: z.literal('Fix'),
    ended: z.enum(['done', 'checkpoint', 'limit']),
    /** Fix commits of this cycle. */
    commits: z.int().min(0),
    limit: limitName.nullable(),
  }),
  z.strictObject({
    step: z.literal('Decide'),
    answer: z.enum(['approve', 'fix', 'skip', 'abort', 'expired']),
    /** Who answered; null where nobody did. */
    by: z.string().nullable(),
  }),
])
export type LastStep = z.infer<typeof lastStep>

/** How a run ends. `reason` says which row of the table, or which error, led to it. */
export const verdict = z.strictObject({
  outcome: z.enum(OUTCOMES),
  reason: z.enum([
    'nothing-to-review',
    'clean',
    'certified',
    'by-person',
    'not-certified',
    'open-findings',
    'no-change',
    'stuck',
    'limit',
    'rounds',
    'skipped',
    'expired',
    'aborted',
    'superseded',
    'failed',
  ]),
  /** The person, where one decided. */
  by: z.string().nullable(),
  /** Row of the error catalogue, for `failed`. */
  error: z.string().nullable(),
})
export type Verdict = z.infer<typeof verdict>

/** The few values of the policy that `nextStep` and the turns need on the way. */
export const loopPolicy = z.strictObject({
  rounds: z.int().min(0),
  certify: z.enum(['auto', 'always', 'never']),
  ask: z.enum(['always', 'never']),
  continuations: z.int().min(0),
  /** Seconds a parked run waits for a person: the time-out of the Park state. */
  askSeconds: z
    .int()
    .min(1)
    .max(MAX_PARK_DAYS * 24 * 3600),
})
export type LoopPolicy = z.infer<typeof loopPolicy>

/** What a run has used so far. A number is a number; what no agent could tell is null and counts as nothing. */
export const spent = z.strictObject({ tokens: z.int().min(0), dollars: z.number().min(0).nullable(), milliseconds: z.int().min(0) })
export type Spent = z.infer<typeof spent>

/** The state that travels: ids, keys and counts. Never findings, diffs or transcripts (256 KiB is all there is). */
export const runState = z.strictObject({
  runId,
  epoch: z.int().min(1),
  next: z.enum(STEPS),
  policy: loopPolicy,
  /** The last finished turn; turns count through the run from 1. */
  turn: z.int().min(0),
  /** Fix cycles begun, automatic and human together. */
  round: z.int().min(0),
  /** Continuations of the present turn that were used. */
  continuations: z.int().min(0),
  /** Artifact keys. */
  source: z.string().nullable(),
  record: z.string().nullable(),
  changeset: z.string().nullable(),
  /** What the person decided, if the next fix turn is to act on it. */
  decision: z.string().nullable(),
  /** The commit that stands now: the head, or the last fix commit. */
  commit: commitId,
  /** The commit that a certificate covers. */
  certified: commitId.nullable(),
  /** Whether fix commits were made in the run. */
  fixed: z.boolean(),
  spent,
  /** Scope of the repository's budgets, for which turns are counted; absent where the deployment has none for it. */
  budget: z.exactOptional(z.string()),
  last: lastStep.nullable(),
  verdict: verdict.nullable(),
})
export type RunState = z.infer<typeof runState>

/** State after `RecordFailure`'s Catch: the run's state is kept, the error stands beside it. */
export const stateWithError = z.object({
  ...runState.shape,
  error: z.object({ Error: z.string(), Cause: z.string().optional() }).optional(),
})
export type StateWithError = z.infer<typeof stateWithError>
