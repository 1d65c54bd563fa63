/** What the lint agent keeps in its transcripts, after the entry that names the session. */
import * as z from 'zod'
import { findingDraft } from '../../loop/finding.ts'

/** The reviewer's memory: what a file held, by a hash of everything that the result depends on. */
const fileEntry = z.strictObject({
  type: z.literal('file'),
  path: z.string(),
  hash: z.string().regex(/^[0-9a-f]{64}$/u),
  findings: z.array(findingDraft),
  /** Why the file, or some of it, counts as not looked at. */
  skip: z.string().nullable(),
})
/** A task began: what was tried after it belongs to it. */
const taskEntry = z.strictObject({ type: z.literal('task'), turn: z.int().min(1) })
/** The fixer's memory: what it tried, and what came of it. */
const triedEntry = z.strictObject({
  type: z.literal('tried'),
  turn: z.int().min(1),
  id: z.string(),
  outcome: z.enum(['fixed', 'not-fixed']),
  note: z.string(),
  /** Lines of the file that read like the finding's before the fix: ids of equal lines differ by their order alone. */
  equal: z.int().min(0),
})

export const lintEntry = z.discriminatedUnion('type', [fileEntry, taskEntry, triedEntry])
export type LintEntry = z.infer<typeof lintEntry>
export type FileEntry = z.infer<typeof fileEntry>
export type TriedEntry = z.infer<typeof triedEntry>
