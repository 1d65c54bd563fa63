/** What a session's transcript holds: enough to make every request anew, and nothing of the provider's own. */
import * as z from 'zod'
import { skippedFile } from '../../loop/output.ts'

const storedBlock = z.union([
  z.strictObject({ text: z.string() }),
  z.strictObject({ toolUse: z.strictObject({ id: z.string(), name: z.string(), input: z.unknown() }) }),
  z.strictObject({ reasoning: z.strictObject({ text: z.string(), signature: z.string().optional() }) }),
  /** Reasoning that only the provider can read. */
  z.strictObject({ redacted: z.base64() }),
])
export type StoredBlock = z.infer<typeof storedBlock>

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
/** Something said by the agent itself, such as that an answer was cut off. `mishap`: what it was said for may happen once a turn. */
const noteEntry = z.strictObject({ type: z.literal('note'), text: z.string(), mishap: z.boolean() })
/** `context`: tokens of the conversation up to and with this reply. */
const replyEntry = z.strictObject({ type: z.literal('reply'), content: z.array(storedBlock).min(1), context: z.int().min(0) })
const resultsEntry = z.strictObject({
  type: z.literal('results'),
  results: z.array(z.strictObject({ id: z.string(), ok: z.boolean(), text: z.string() })).min(1),
})
/** What the tool `report` was given for a part, and taken. */
const reportEntry = z.strictObject({ type: z.literal('report'), part: z.int().min(0), output: z.unknown() })

export const bedrockEntry = z.discriminatedUnion('type', [turnEntry, askEntry, noteEntry, replyEntry, resultsEntry, reportEntry])
export type BedrockEntry = z.infer<typeof bedrockEntry>
export type TurnEntry = z.infer<typeof turnEntry>
export type ToolResult = z.infer<typeof resultsEntry>['results'][number]
