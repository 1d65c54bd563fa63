/** What a provider of the Responses API answers, and what of it ends a turn. */
import * as z from 'zod'
import type { AgentResult } from '../../loop/agent.ts'
import type { LimitName } from '../../loop/run.ts'
import type { CallTokens } from '../spent.ts'

type Failed = Extract<AgentResult, { kind: 'failed' }>['error']

/** Why a turn stops before its answer. `late`: its time is over. */
export type Stop =
  | { kind: 'late' }
  | { kind: 'limit'; limit: LimitName }
  | { kind: 'lost'; reason: string }
  | { kind: 'refused'; reason: string }
  | { kind: 'failed'; error: Failed; reason: string }

export interface Answered {
  status: number
  /** Seconds that the provider asks to be given. */
  retryAfter: number | null
  text: string
}

const problem = z.looseObject({ code: z.string().nullish(), type: z.string().nullish(), message: z.string().nullish() })
const usage = z.looseObject({
  input_tokens: z.number(),
  input_tokens_details: z.looseObject({ cached_tokens: z.number().nullish(), cache_write_tokens: z.number().nullish() }).nullish(),
  output_tokens: z.number(),
})
const part = z.looseObject({ type: z.string(), refusal: z.string().nullish() })
const item = z.looseObject({ type: z.string(), content: z.array(part).nullish() })
const event = z.looseObject({
  type: z.string(),
  item: item.optional(),
  response: z
    .looseObject({
      usage: usage.nullish(),
      error: problem.nullish(),
      incomplete_details: z.looseObject({ reason: z.string().nullish() }).nullish(),
    })
    .optional(),
  code: z.string().nullish(),
  message: z.string().nullish(),
  error: problem.nullish(),
})
type StreamEvent = z.infer<typeof event>

/** What became of a call. A failed one may have used tokens all the same. */
export interface Outcome {
  tokens: CallTokens | null
  stop: Stop | null
}

/** The conversation is longer than the model can be given. */
const TOO_LONG = /too long|context (?:window|length)|maximum (?:context|number of tokens)|exceeds? the (?:limit|maximum) of \d+ tokens/i
const THROTTLES = ['rate_limit_exceeded', 'rate_limit_error', 'too_many_requests', 'slow_down']
const OVERLOADS = ['server_error', 'server_is_overloaded', 'internal_error', 'api_error', 'overloaded', 'engine_overloaded']
/** Not to be had by waiting. */
const REFUSALS =
  /^(?:insufficient_quota|usage_not_included|billing_\w+|invalid_api_key|model_not_found|invalid_prompt|content_filter|\w*policy\w*|\w*moderation\w*)$/
/** What a model thought can be read with the key it was made under alone. */
const LOST = ['context_length_exceeded', 'invalid_encrypted_content']

const byCode = (code: string, message: string): Stop | null => {
  const reason = `${code}: ${message}`
  if (LOST.includes(code) || TOO_LONG.test(message)) return { kind: 'lost', reason }
  if (THROTTLES.includes(code)) return { kind: 'failed', error: 'AgentThrottled', reason }
  if (REFUSALS.test(code)) return { kind: 'refused', reason }
  return OVERLOADS.includes(code) ? { kind: 'failed', error: 'AgentOverloaded', reason } : null
}

/** Told apart by the provider's own codes, then by status. */
const ofStatus = ({ status, text }: Answered): Stop => {
  const { code, type, message } = problemOf(text)
  const named = byCode(code ?? type ?? '', message ?? '')
  if (named) return named
  const reason = `${status} ${code ?? type ?? ''} ${message ?? ''}`.replaceAll(/\s+/g, ' ').trim()
  if (status === 429) return { kind: 'failed', error: 'AgentThrottled', reason }
  if (status === 408) return { kind: 'failed', error: 'AgentTimedOut', reason }
  if (status >= 500) return { kind: 'failed', error: 'AgentOverloaded', reason }
  if (status === 401 || status === 403 || status === 404) return { kind: 'refused', reason }
  return { kind: 'failed', error: 'AgentFailed', reason }
}

const problemOf = (text: string): z.infer<typeof problem> => {
  const body = z.looseObject({ error: z.union([problem, z.string()]).optional() }).safeParse(jsonOf(text))
  const error = body.success ? body.data.error : undefined
  return typeof error === 'string' ? { message: error } : (error ?? { message: text.slice(0, 200) })
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const eventsOf = (text: string): StreamEvent[] =>
  text.split(/\r?\n\r?\n/).flatMap((block) => {
    const data = block.split(/\r?\n/).flatMap((line) => (line.startsWith('data:') ? [line.slice(5)] : []))
    const parsed = event.safeParse(jsonOf(data.join('\n')))
    return parsed.success ? [parsed.data] : []
  })

const tokensOf = (used: z.infer<typeof usage> | null | undefined): CallTokens | null => {
  if (!used) return null
  const cacheRead = used.input_tokens_details?.cached_tokens ?? 0
  const cacheWrite = used.input_tokens_details?.cache_write_tokens ?? 0
  return { plain: Math.max(0, used.input_tokens - cacheRead - cacheWrite), output: used.output_tokens, cacheRead, cacheWrite }
}

/** What a whole answer of the provider means to the turn. */
export const outcomeOf = (answered: Answered): Outcome => {
  if (answered.status !== 200) return { tokens: null, stop: ofStatus(answered) }
  const events = eventsOf(answered.text)
  const last = events.findLast(({ type }) => ['response.completed', 'response.failed', 'response.incomplete', 'error'].includes(type))
  const tokens = tokensOf(last?.response?.usage)
  if (last === undefined) return { tokens, stop: { kind: 'failed', error: 'AgentOverloaded', reason: 'the answer broke off' } }
  if (last.type === 'response.completed') return { tokens, stop: withheld(events) }
  if (last.type === 'response.incomplete') return { tokens, stop: incomplete(last.response?.incomplete_details?.reason ?? 'unknown') }
  const { code, type, message } = last.response?.error ?? last.error ?? last
  const named = byCode(code ?? type ?? '', message ?? '')
  return { tokens, stop: named ?? { kind: 'failed', error: 'AgentFailed', reason: `${code ?? 'unknown'}: ${message ?? ''}` } }
}

const withheld = (events: readonly StreamEvent[]): Stop | null => {
  const parts = events.flatMap((one) => (one.type === 'response.output_item.done' ? (one.item?.content ?? []) : []))
  const refusal = parts.find(({ type }) => type === 'refusal')
  return refusal ? { kind: 'refused', reason: `the model refused: ${(refusal.refusal ?? '').slice(0, 500)}` } : null
}

const incomplete = (reason: string): Stop =>
  reason === 'content_filter'
    ? { kind: 'refused', reason: `the output was withheld: ${reason}` }
    : { kind: 'failed', error: 'AgentFailed', reason: `an answer of the model was cut off: ${reason}` }
