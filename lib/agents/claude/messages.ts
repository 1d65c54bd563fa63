/** What we read of the messages that the SDK gives. Everything else of them is left alone. */
import * as z from 'zod'

const count = z.number().min(0).default(0)

const modelUsage = z.object({ inputTokens: count, outputTokens: count, cacheReadInputTokens: count, cacheCreationInputTokens: count })
/** By model, of a whole session. */
export const modelUsages = z.record(z.string(), modelUsage)

/** The last message: how it ended. */
export const endMessage = z.object({
  type: z.literal('result'),
  subtype: z.string(),
  is_error: z.boolean(),
  session_id: z.string(),
  terminal_reason: z.string().nullish(),
  /** HTTP status of the call that failed for good. */
  api_error_status: z.number().nullish(),
  /** What failed where there was no status, such as `connection_failed`. */
  api_error: z.string().nullish(),
  safety_stops: z.number().nullish(),
  stop_reason: z.string().nullish(),
  result: z.string().optional(),
  structured_output: z.unknown().optional(),
  errors: z.array(z.string()).default([]),
  total_cost_usd: z.number().min(0).default(0),
  modelUsage: modelUsages.default({}),
})
export type ClaudeEnd = z.infer<typeof endMessage>

/** A failed call as it stands among the answers, with its kind. */
export const failedAnswer = z.object({ type: z.literal('assistant'), error: z.string() })

/** The first message. */
export const startMessage = z.object({ type: z.literal('system'), subtype: z.literal('init'), session_id: z.string() })
