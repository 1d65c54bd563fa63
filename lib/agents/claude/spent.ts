/**
 * What a turn used. The SDK counts a session from its beginning, so that what it had used before is taken off, unless it began to count
 * anew: then it says less than before.
 */
import * as z from 'zod'
import type { Usage } from '../../loop/record.ts'
import type { Line } from './entries.ts'
import { type ClaudeEnd, modelUsages } from './messages.ts'

const count = z.number().min(0).default(0)

/** Line in which the SDK notes what the session has used so far. */
const costLine = z.object({ type: z.literal('cost-state'), totalCostUSD: z.number().min(0), modelUsage: modelUsages })

/** Line of a model's answer; one answer may take several. */
const answerLine = z.object({
  type: z.literal('assistant'),
  message: z.object({
    id: z.string(),
    model: z.string(),
    usage: z.object({
      input_tokens: count,
      output_tokens: count,
      cache_read_input_tokens: z.number().nullish(),
      cache_creation_input_tokens: z.number().nullish(),
    }),
  }),
})

interface Tokens {
  /** All of it, what the cache had to do with included. */
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
}
const NONE: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

const sum = (all: readonly Tokens[], sign = 1): Tokens =>
  all.reduce(
    (total, one) => ({
      input: total.input + sign * one.input,
      output: total.output + sign * one.output,
      cacheRead: total.cacheRead + sign * one.cacheRead,
      cacheWrite: total.cacheWrite + sign * one.cacheWrite,
    }),
    NONE,
  )

const tokensOf = (usages: z.infer<typeof modelUsages>): Tokens =>
  sum(
    Object.values(usages).map((one) => ({
      input: one.inputTokens + one.cacheReadInputTokens + one.cacheCreationInputTokens,
      output: one.outputTokens,
      cacheRead: one.cacheReadInputTokens,
      cacheWrite: one.cacheCreationInputTokens,
    })),
  )

interface Counted {
  tokens: Tokens
  dollars: number
}

const sinceThen = (now: Counted, before: Counted): Counted => {
  const tokens = sum([now.tokens, sum([before.tokens], -1)])
  const isAnew = now.dollars < before.dollars || Object.values(tokens).some((one) => one < 0)
  return isAnew ? now : { tokens, dollars: now.dollars - before.dollars }
}

/** What the tool says itself, such as that a call failed, is no answer of a model. */
const SYNTHETIC = '<synthetic>'

const answerIn = (line: Line): { id: string; tokens: Tokens } | null => {
  const { data } = answerLine.safeParse(line)
  if (!data || data.message.model === SYNTHETIC) return null
  const { usage, id } = data.message
  const cacheRead = usage.cache_read_input_tokens ?? 0
  const cacheWrite = usage.cache_creation_input_tokens ?? 0
  return { id, tokens: { input: usage.input_tokens + cacheRead + cacheWrite, output: usage.output_tokens, cacheRead, cacheWrite } }
}

export class Spent {
  readonly #before: Counted
  readonly #answers = new Map<string, Tokens>()
  readonly #grown: number
  #end: ClaudeEnd | null = null

  /** `lines`: what stood in the transcript before. */
  constructor(lines: readonly Line[]) {
    const answer = lines.flatMap((line) => answerIn(line) ?? []).at(-1)
    this.#grown = answer ? answer.tokens.input + answer.tokens.output : 0
    const last = costLine.safeParse(lines.findLast(({ type }) => type === 'cost-state'))
    this.#before = last.success ? { tokens: tokensOf(last.data.modelUsage), dollars: last.data.totalCostUSD } : { tokens: NONE, dollars: 0 }
  }

  see(line: Line): void {
    const answer = answerIn(line)
    if (answer) this.#answers.set(answer.id, answer.tokens)
  }

  end(end: ClaudeEnd): void {
    this.#end = end
  }

  get answers(): number {
    return this.#answers.size
  }

  /** Of this turn, so far. */
  get tokens(): number {
    const { input, output } = sum([...this.#answers.values()])
    return input + output
  }

  /** Tokens that the conversation has grown to. */
  get context(): number {
    const last = [...this.#answers.values()].at(-1)
    return last ? last.input + last.output : this.#grown
  }

  /** Where the tool was cut off, it has not said what it cost. */
  get usage(): Usage {
    const counted = this.#end && Object.keys(this.#end.modelUsage).length > 0 ? this.#end : null
    const added = counted ? sinceThen({ tokens: tokensOf(counted.modelUsage), dollars: counted.total_cost_usd }, this.#before) : null
    const tokens = added?.tokens ?? sum([...this.#answers.values()])
    const dollars = added?.dollars ?? (this.#end !== null || this.#answers.size === 0 ? 0 : null)
    const failed = this.#end?.is_error && this.#end.terminal_reason === 'api_error' ? 1 : 0
    return { ...tokens, dollars, calls: Math.max(1, this.#answers.size + failed) }
  }
}
