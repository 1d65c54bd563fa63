import { describe, expect, it } from 'vitest'
import type { Line } from '../../lib/agents/claude/entries.ts'
import { type ClaudeEnd, endMessage } from '../../lib/agents/claude/messages.ts'
import { Spent } from '../../lib/agents/claude/spent.ts'

const used = (input: number, output: number) => ({ a: { inputTokens: input, outputTokens: output } })
const before = (dollars: number, modelUsage: object): Line[] => [{ type: 'cost-state', totalCostUSD: dollars, modelUsage }]
const end = (dollars: number, modelUsage: object): ClaudeEnd =>
  endMessage.parse({
    type: 'result',
    subtype: 'success',
    is_error: false,
    session_id: 'x',
    total_cost_usd: dollars,
    modelUsage,
  })

describe('what the SDK says of a session', () => {
  it.each([
    ['goes on from before', end(3, used(150, 30)), { input: 50, output: 10, dollars: 1 }],
    ['is what it was: nothing was used', end(2, used(100, 20)), { input: 0, output: 0, dollars: 0 }],
    ['begins anew', end(0.5, used(40, 5)), { input: 40, output: 5, dollars: 0.5 }],
    ['begins anew, and is dearer all the same', end(2.5, used(40, 30)), { input: 40, output: 30, dollars: 2.5 }],
  ])('that %s is what the turn used, and never less than nothing', (_what, ended, expected) => {
    const spent = new Spent(before(2, used(100, 20)))
    spent.end(ended)
    expect(spent.usage).toMatchObject(expected)
  })
})
