import type { Command } from 'commander'
import { type CostField, costOfRun, type RunCost, type Sum, type Sums } from '../../lib/loop/by-turn.ts'
import { oneLine, printable } from '../../lib/loop/redact.ts'
import { EXIT, type ExitCode } from '../terminal/exit.ts'
import { table } from '../terminal/table.ts'
import { dataFlag, jsonFlag, remoteFlag, type RemoteFlags } from './flags.ts'
import { readReport } from './read-report.ts'

const HEAD = ['TURN', 'ROLE', 'AGENT', 'MODE', 'CALLS', 'IN', 'CACHE READ', 'CACHE WRITTEN', 'OUT', 'DOLLARS']
const COLUMNS: readonly CostField[] = ['input', 'cacheRead', 'cacheWrite', 'output', 'dollars']

const amount = (field: CostField, value: number): string => (field === 'dollars' ? `$${value.toFixed(4)}` : String(value))

const cell = (field: CostField, value: number | null): string => (value === null ? 'unknown' : amount(field, value))

/** A sum of which a part is not known is no less than what is. */
const sumCell = (field: CostField, { known, unknownTurns }: Sum, turns: number): string => {
  if (unknownTurns === 0) return amount(field, known)
  return unknownTurns === turns ? 'unknown' : `at least ${amount(field, known)}`
}

const sumRow = (name: string, sums: Sums): string[] => [
  'sum',
  name,
  '',
  '',
  String(sums.calls),
  ...COLUMNS.map((field) => sumCell(field, sums[field], sums.turns)),
]

const render = ({ turns, roles, total, unfinished }: RunCost): string => {
  const rows = [
    ...turns.map((turn) => [
      String(turn.turn),
      turn.role,
      oneLine(turn.agent, 40),
      turn.mode,
      String(turn.calls),
      ...COLUMNS.map((field) => cell(field, turn[field])),
    ]),
    ...Object.entries(roles).map(([role, sums]) => sumRow(role, sums)),
    sumRow('all', total),
  ]
  const lost =
    unfinished.tokens > 0 || unfinished.dollars
      ? `\nAttempts that came to no turn: ${unfinished.tokens} tokens, ${cell('dollars', unfinished.dollars)}`
      : ''
  return `${table([HEAD, ...rows])}${lost}\nIN has what was read from a cache, or written to it, among it.`
}

export const costCommand = (program: Command, done: (code: ExitCode) => void): void => {
  jsonFlag(remoteFlag(dataFlag(program.command('cost').argument('[run]', 'run to look at; the newest when left out'))))
    .description('show what a run cost, in tokens and dollars, by turn and by role')
    .action(async (named: string | undefined, flags: RemoteFlags & { json?: boolean }) => {
      const report = await readReport(named, flags)
      const cost = costOfRun(report)
      if (flags.json) process.stdout.write(`${JSON.stringify({ version: 1, run: report.run, ...cost }, null, 2)}\n`)
      else process.stdout.write(`${report.run}\n${cost.turns.length ? printable(render(cost)) : 'No turn is finished yet.'}\n`)
      done(EXIT.approved)
    })
}
