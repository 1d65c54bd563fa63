/** What a turn used, as far as its agent tells: with the answer to a prompt, with single messages, or as the cost of the session. */
import * as z from 'zod'
import type { Usage } from '../../loop/record.ts'

const count = z.number().min(0)
const tokens = z.object({
  inputTokens: count,
  outputTokens: count,
  cachedReadTokens: count.nullish(),
  cachedWriteTokens: count.nullish(),
})
type Tokens = z.infer<typeof tokens>

const withUsage = z.object({ usage: tokens })
const withMeta = z.object({ _meta: withUsage })
const cost = z.object({ amount: count, currency: z.literal('USD') })
const contextUpdate = z.object({ used: count, cost: cost.nullish().catch(null) })

const sum = (all: readonly Tokens[], field: keyof Tokens): number | null => {
  const known = all.flatMap((one) => one[field] ?? [])
  return known.length === 0 ? null : known.reduce((a, b) => a + b, 0)
}

export class AcpSpent {
  /** Of the session before this turn: agents tell its cost as a whole. */
  readonly #before: { context: number | null; dollars: number | null }
  #prompts = 0
  #calls = 0
  #answers: Tokens[] = []
  /** Of the messages of the prompt that is being answered. */
  #messages: Tokens[] = []
  #context: number | null
  #cost: number | null = null

  constructor(before: { context: number | null; dollars: number | null }) {
    this.#before = before
    this.#context = before.context
  }

  prompt(): void {
    this.#prompts += 1
    this.#settle()
  }

  /** What was told of single messages stands where the answer says nothing. */
  #settle(): void {
    this.#answers.push(...this.#messages)
    this.#messages = []
  }

  /** A message of the agent with, where it is so kind, the usage of the call that it came from. */
  message(update: unknown): void {
    const parsed = withMeta.safeParse(update)
    if (!parsed.success) return
    const {
      _meta: { usage },
    } = parsed.data
    this.#calls += 1
    this.#messages.push(usage)
    this.#context = usage.inputTokens + usage.outputTokens
  }

  /** The protocol's own update on the size of the session. */
  update(given: unknown): void {
    const parsed = contextUpdate.safeParse(given)
    if (!parsed.success) return
    this.#context = parsed.data.used
    this.#cost = parsed.data.cost?.amount ?? this.#cost
  }

  /** The answer to a prompt. */
  answer(response: unknown): void {
    const parsed = withUsage.safeParse(response)
    if (!parsed.success) return
    this.#messages = []
    this.#answers.push(parsed.data.usage)
  }

  get tokens(): number {
    const { input, output } = this.usage
    return (input ?? 0) + (output ?? 0)
  }

  /** Calls of its model that the agent told of, and at least one for each message it was given. */
  get calls(): number {
    return Math.max(this.#prompts, this.#calls)
  }

  /** Of this turn: an agent that begins to count anew tells less than before. */
  get dollars(): number | null {
    if (this.#cost === null) return null
    const { dollars } = this.#before
    return dollars === null || this.#cost < dollars ? this.#cost : this.#cost - dollars
  }

  /** What the session has grown to and cost. */
  get size(): { context: number | null; dollars: number | null } {
    return { context: this.#context, dollars: this.#cost ?? this.#before.dollars }
  }

  get usage(): Usage {
    const all = [...this.#answers, ...this.#messages]
    return {
      input: sum(all, 'inputTokens'),
      output: sum(all, 'outputTokens'),
      cacheRead: sum(all, 'cachedReadTokens'),
      cacheWrite: sum(all, 'cachedWriteTokens'),
      dollars: this.dollars,
      // The loop counts a turn that was given up before its first call as one.
      calls: Math.max(1, this.calls),
    }
  }
}
