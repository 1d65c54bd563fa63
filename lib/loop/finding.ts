import * as z from 'zod'

export const severity = z.enum(['error', 'warning', 'info'])
export type Severity = z.infer<typeof severity>

/** What should become of a finding. A missing action is `ask-user`: nothing is fixed that nobody said may be. */
export const action = z.enum(['auto-fix', 'ask-user', 'no-op'])
export type Action = z.infer<typeof action>

/** A finding as an agent gives it, before it is checked against the workspace and the diff. Lines count from 1. */
export const findingDraft = z.strictObject({
  rule: z.string().min(1).max(200).describe('Short stable name of the kind of defect, e.g. "sql-injection" or "no-unused-vars".'),
  severity,
  action: action.optional().describe('auto-fix: safe to fix without asking; ask-user: a person has to decide; no-op: for information.'),
  file: z.string().min(1).max(4096).describe('Path from the root of the repository, with forward slashes.'),
  line: z.int().min(1).optional().describe('First line, counted from 1 in the file as it is now. Leave out for the whole file.'),
  endLine: z.int().min(1).optional(),
  text: z.string().min(1).max(8000).describe('What is wrong and why it matters.'),
})
export type FindingDraft = z.infer<typeof findingDraft>

/** A checked finding. `id` is stable over line moves: it is made of file, rule, the text of the line and an ordinal. */
export const finding = z.strictObject({
  ...findingDraft.shape,
  id: z.string().regex(/^f-[0-9a-f]{10}$/),
  action,
  /** True where the finding's line lies on an added line of the diff; false makes it a file-level finding. */
  inDiff: z.boolean(),
  /** Fingerprint of the file's content, where the id holds no text of a line: a finding of the whole file. */
  content: z.string().max(64).optional(),
})
export type Finding = z.infer<typeof finding>

/** A finding that a person declined, as later runs on its branch remember it. */
export const declinedFinding = z.strictObject({
  id: finding.shape.id,
  /** For a reviewer that names its rules as it goes: what it is not to raise under another name. Cut short. */
  rule: z.string(),
  file: z.string(),
  text: z.string(),
  /** How bad it was: a worse one is asked about again. */
  severity,
  content: z.string().max(64).nullable(),
  /** The run in which it was declined. */
  run: z.string(),
  by: z.string().nullable(),
  at: z.iso.datetime(),
})
export type DeclinedFinding = z.infer<typeof declinedFinding>

/** One thing that happened to a finding. */
export const findingEvent = z.strictObject({
  event: z.enum([
    'raised',
    'still-open',
    'given-to-fixer',
    'fixed',
    'not-fixed',
    'declined',
    'selected',
    'reopened',
    'added-by-person',
    'withdrawn',
  ]),
  turn: z.int().min(0),
  round: z.int().min(0),
  /** The fix commit, for `fixed` and `given-to-fixer`. */
  commit: z.string().optional(),
  /** The person, for `declined`, `selected`, `added-by-person`. */
  by: z.string().optional(),
  note: z.string().optional(),
})
export type FindingEvent = z.infer<typeof findingEvent>

/** A finding of the run's outstanding set, with its history. The set is append-only: findings change status, none leaves. */
export const trackedFinding = z.strictObject({
  ...finding.shape,
  status: z.enum(['open', 'fixed', 'declined', 'withdrawn']),
  /** How often it was given to the fixer and was still open in the review after. */
  leftUnfixed: z.int().min(0),
  /** It came back after a person took it out: declined it, or reverted its fix. */
  returned: z.boolean(),
  history: z.array(findingEvent).min(1),
})
export type TrackedFinding = z.infer<typeof trackedFinding>
