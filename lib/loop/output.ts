/** What agents answer. These schemas are the validation, the types, and (z.toJSONSchema) what a model is told. */
import * as z from 'zod'
import { findingDraft } from './finding.ts'

/** A file, or part of one, that was not looked at. What is skipped never counts as clean. */
export const skippedFile = z.strictObject({ file: z.string(), reason: z.string() })
export type SkippedFile = z.infer<typeof skippedFile>

/** A re-review accounts for every outstanding finding by id; what it passes over in silence stays open. */
export const account = z.strictObject({
  id: z.string(),
  status: z.enum(['open', 'fixed', 'withdrawn']).describe('open: still there; fixed: no longer there; withdrawn: it was never a defect.'),
  note: z.string().max(2000).optional(),
})
export type Account = z.infer<typeof account>

export const reviewOutput = z.strictObject({
  findings: z.array(findingDraft).describe('New findings; those already outstanding are accounted for below, not repeated.'),
  accounts: z.array(account),
  skipped: z.array(skippedFile),
  summary: z.string().max(4000),
})
export type ReviewOutput = z.infer<typeof reviewOutput>

export const fixOutput = z.strictObject({
  /** What the fixer says of each finding it was given. Edits themselves are read from the workspace. */
  results: z.array(
    z.strictObject({
      id: z.string(),
      status: z.enum(['fixed', 'not-fixed']),
      note: z.string().max(2000).optional().describe('What was done, or why it was not.'),
    }),
  ),
  summary: z.string().max(4000),
})
export type FixOutput = z.infer<typeof fixOutput>
