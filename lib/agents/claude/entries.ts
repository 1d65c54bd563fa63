/** What a session's transcript holds: the SDK's own lines, to the letter, and what only we know of the turns. */
import * as z from 'zod'
import { skippedFile } from '../../loop/output.ts'

/** A turn begins, or its answer is to be repaired. `shown`: hash of each file's change that its prompt holds. */
const turnEntry = z.strictObject({
  type: z.literal('turn'),
  turn: z.int().min(1),
  kind: z.enum(['task', 'repair']),
  shown: z.record(z.string(), z.string()),
  skipped: z.array(skippedFile),
})
const lineEntry = z.strictObject({ type: z.literal('line'), line: z.looseObject({ type: z.string(), uuid: z.string().exactOptional() }) })
/** The turn stopped here to be gone on with: between two calls of the model, or in the middle of one that was cut off. */
const stopEntry = z.strictObject({ type: z.literal('stop'), how: z.enum(['between', 'within']) })

export const claudeEntry = z.discriminatedUnion('type', [turnEntry, lineEntry, stopEntry])
export type ClaudeEntry = z.infer<typeof claudeEntry>
export type TurnEntry = z.infer<typeof turnEntry>
export type Line = z.infer<typeof lineEntry>['line']
export type Stop = z.infer<typeof stopEntry>['how']
