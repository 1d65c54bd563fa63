/** What turns used, added up. Zero is a number; what nobody could tell is null, and null with a number is that number. */
import type { Usage } from './record.ts'

const FIELDS = ['input', 'output', 'cacheRead', 'cacheWrite', 'dollars'] as const

/** Nothing was called. */
export const noUsage = (): Usage => ({ input: null, output: null, cacheRead: null, cacheWrite: null, dollars: null, calls: 0 })

/** One call of which nothing is known: an agent that threw instead of answering. */
export const unknownUsage = (): Usage => ({ ...noUsage(), calls: 1 })

const plus = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : a + b)

export function addUsage(a: Usage | null, b: Usage): Usage {
  if (!a) return b
  const sum = { ...b, calls: a.calls + b.calls }
  for (const field of FIELDS) sum[field] = plus(a[field], b[field])
  return sum
}

/** Tokens that count against `limits.tokens`: input and output, unknown ones as none. */
export const tokensOf = (usage: Usage): number => (usage.input ?? 0) + (usage.output ?? 0)
