/**
 * `npm run bench -- tokens`: what sessions save. One recorded scenario, once with sessions and once without, over one to five rounds: the
 * agent `bedrock` and its real client against a model on loopback that keeps the provider's rules for its cache. Tokens are characters
 * by four: they compare with each other and with no bill.
 */
import { parseArgs } from 'node:util'
import { createBedrockAgent } from '../lib/agents/bedrock/agent.ts'
import { readBedrockSettings } from '../lib/agents/bedrock/settings.ts'
import { ENV, TURN_ROLES, type TurnRole } from '../lib/names.ts'
import { startModelServer } from '../test/support/model-server/bedrock.ts'
import type { ModelBench } from '../test/support/model-server/bedrock-agent.ts'
import { bedrockRun } from '../test/support/model-server/bedrock-run.ts'
import { plainModel } from '../test/support/model-server/plain-model.ts'

const { values } = parseArgs({
  args: process.argv.slice(3),
  options: {
    /** Minutes that the cache lasts, and what writing to it costs, in times of plain input. */
    minutes: { type: 'string', default: '5' },
    write: { type: 'string', default: '1.25' },
    read: { type: 'string', default: '0.1' },
    /** Tokens below which nothing is cached. */
    minimum: { type: 'string', default: '1024' },
    /** Dollars for a million tokens. */
    input: { type: 'string', default: '3' },
    output: { type: 'string', default: '15' },
  },
})
const [minutes, write, read, minimum, input, output] = (['minutes', 'write', 'read', 'minimum', 'input', 'output'] as const).map((name) =>
  Number(values[name]),
) as [number, number, number, number, number, number]

/** The scenario: a word a round in one of eight changed files, and four files around them that are read once a session. */
const WORDS = ['bad', 'worse', 'awful', 'wrong', 'broken']
const line = (file: string, at: number): string => `export const value${at} = compute('${file}', ${at}, options)\n`
const text = (file: string, lines: number): string => Array.from({ length: lines }, (_, at) => line(file, at)).join('')
const CHANGED = Array.from({ length: 8 }, (_, at) => `src/part-${at}.ts`)
const AROUND = Array.from({ length: 4 }, (_, at) => `src/around-${at}.ts`)
const BASE = Object.fromEntries([...CHANGED, ...AROUND].map((file) => [file, text(file, 150)]))
const HEAD = {
  ...BASE,
  ...Object.fromEntries(CHANGED.map((file) => [file, `${text(file, 150)}// changed\n`])),
  [CHANGED[0] ?? '']: `${text('x', 150)}// bad luck\n`,
}

interface Spent {
  tokens: Record<TurnRole, number>
  dollars: Record<TurnRole, number>
}
const nothing = (): Record<TurnRole, number> => ({ reviewer: 0, fixer: 0, certifier: 0 })
const sum = (by: Record<TurnRole, number>): number => TURN_ROLES.reduce((all, role) => all + by[role], 0)

const play = async (bench: ModelBench, rounds: number, warm: boolean, idle: number): Promise<Spent> => {
  bench.server.model = plainModel({ words: WORDS.slice(0, rounds), remembers: true, around: AROUND })
  bench.server.cache.clear()
  const overrides = { session_reuse: warm, rounds, sessions: { max_idle: 10_000, max_tokens: 10_000_000 } }
  const { record } = await bedrockRun(bench, { base: BASE, head: HEAD, overrides, stepMs: idle * 60_000 })
  const spent: Spent = { tokens: nothing(), dollars: nothing() }
  for (const { role, usage } of record.turns) {
    spent.tokens[role] += (usage.input ?? 0) + (usage.output ?? 0)
    spent.dollars[role] += usage.dollars ?? 0
  }
  return spent
}

const count = (value: number): string => Math.round(value).toLocaleString('en')
const dollars = (value: number): string => `$${value.toFixed(4)}`
const rows = (head: readonly string[], body: readonly (readonly string[])[]): string => {
  const all = [head, ...body]
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)))
  const row = (cells: readonly string[]): string => `| ${cells.map((cell, column) => cell.padStart(widths[column] ?? 0)).join(' | ')} |`
  return [row(head), row(widths.map((width) => '-'.repeat(width))), ...body.map(row)].join('\n')
}

/** Prints two tables: by role and round, and by the minutes that a session lies idle. */
export const tokens = async (): Promise<void> => {
  Object.assign(process.env, { AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local', AWS_REGION: 'us-east-1' })
  await using server = await startModelServer(plainModel())
  server.cache.lifetime = minutes * 60_000
  server.cache.shortest = minimum
  const prices = [input, output, input * read, input * write].join('/')
  const settings = readBedrockSettings({ [ENV.bedrockModel]: 'bench.model', [ENV.bedrockPrices]: prices })
  const bench: ModelBench = {
    server,
    agent: (_settings, options) => createBedrockAgent(settings, { endpoint: server.url, attempts: 1, ...options }),
  }

  console.log(
    `cache: ${minutes} min, write ${write}×, read ${read}×, at least ${minimum} tokens; $${input} in, $${output} out for a million\n`,
  )
  const byRole: string[][] = []
  for (const rounds of [1, 2, 3, 4, 5]) {
    const [cold, warm] = [await play(bench, rounds, false, 1), await play(bench, rounds, true, 1)]
    for (const role of TURN_ROLES)
      byRole.push([
        String(rounds),
        role,
        count(cold.tokens[role]),
        count(warm.tokens[role]),
        dollars(cold.dollars[role]),
        dollars(warm.dollars[role]),
      ])
    byRole.push([
      String(rounds),
      'all',
      count(sum(cold.tokens)),
      count(sum(warm.tokens)),
      dollars(sum(cold.dollars)),
      dollars(sum(warm.dollars)),
    ])
  }
  console.log('a minute from one turn to the next:')
  console.log(rows(['rounds', 'role', 'tokens cold', 'warm', 'dollars cold', 'warm'], byRole))

  const idles = [1, 3, 10, 30, 70]
  const pays: string[][] = []
  for (const rounds of [1, 3, 5]) {
    for (const idle of idles) {
      const [cold, warm] = [await play(bench, rounds, false, idle), await play(bench, rounds, true, idle)].map((spent) =>
        sum(spent.dollars),
      )
      const gain = 1 - (warm ?? 0) / (cold ?? 1)
      pays.push([
        String(rounds),
        String(idle),
        dollars(cold ?? 0),
        dollars(warm ?? 0),
        `${(gain * 100).toFixed(0)} %`,
        gain > 0 ? 'yes' : 'no',
      ])
    }
  }
  console.log('\nby the minutes from one turn to the next (those of one role are two apart):')
  console.log(rows(['rounds', 'minutes', 'cold', 'warm', 'saved', 'resuming pays'], pays))
}
