/** What a session's transcript holds: what was asked and reported, and the files in which the agent itself keeps the conversation. */
import * as z from 'zod'
import { skippedFile } from '../../loop/output.ts'

/** Name of the folder that the session lives in: agents find their sessions by the path of the folder they were started in. */
const placeEntry = z.strictObject({ type: z.literal('place'), place: z.string().regex(/^[0-9a-f]{16}$/) })
/** A turn begins, or its answer is to be repaired: the messages to give, one after the other. */
const turnEntry = z.strictObject({
  type: z.literal('turn'),
  turn: z.int().min(1),
  kind: z.enum(['task', 'repair']),
  parts: z.array(z.strictObject({ text: z.string(), shown: z.record(z.string(), z.string()) })).min(1),
  skipped: z.array(skippedFile),
})
/** The part of the latest turn entry that was given. */
const askEntry = z.strictObject({ type: z.literal('ask'), part: z.int().min(0) })
/** What was answered to a part, as it came. */
const reportEntry = z.strictObject({ type: z.literal('report'), part: z.int().min(0), output: z.unknown() })
/** What the agent said of the session as a whole: the tokens that it has grown to, the dollars that it has cost. */
const sizeEntry = z.strictObject({ type: z.literal('size'), context: z.number().min(0).nullable(), dollars: z.number().min(0).nullable() })
/** A file of the agent's, compressed, in base64. Only those of the latest turn are kept. */
const fileEntry = z.strictObject({ type: z.literal('file'), path: z.string(), isExecutable: z.boolean(), content: z.base64() })

export const acpEntry = z.discriminatedUnion('type', [placeEntry, turnEntry, askEntry, reportEntry, sizeEntry, fileEntry])
export type AcpEntry = z.infer<typeof acpEntry>
export type TurnEntry = z.infer<typeof turnEntry>
export type FileEntry = z.infer<typeof fileEntry>
