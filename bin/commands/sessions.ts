import type { Command } from 'commander'
import { type SessionOfTurn, sessionsOfTurns } from '../../lib/loop/by-turn.ts'
import { oneLine, printable } from '../../lib/loop/redact.ts'
import { EXIT, type ExitCode } from '../terminal/exit.ts'
import { duration } from '../terminal/paint.ts'
import { table } from '../terminal/table.ts'
import { dataFlag, jsonFlag, remoteFlag, type RemoteFlags } from './flags.ts'
import { readReport } from './read-report.ts'

const HEAD = ['TURN', 'ROUND', 'ROLE', 'MODE', 'SESSION', 'AGE', 'IDLE', 'AGENT', 'WHY']

const time = (milliseconds: number | null): string => (milliseconds === null ? '-' : duration(milliseconds))

const row = ({ turn, round, role, mode, fingerprint, age, idle, agent, agentVersion, why }: SessionOfTurn): string[] => [
  String(turn),
  String(round),
  role,
  mode,
  fingerprint ?? '-',
  time(age),
  time(idle),
  oneLine(`${agent} ${agentVersion}`, 40),
  oneLine(why, 100),
]

export const sessionsCommand = (program: Command, done: (code: ExitCode) => void): void => {
  jsonFlag(remoteFlag(dataFlag(program.command('sessions').argument('[run]', 'run to look at; the newest when left out'))))
    .description('show which session each turn of a run had, how old it was, and why')
    .action(async (named: string | undefined, flags: RemoteFlags & { json?: boolean }) => {
      const report = await readReport(named, flags)
      const turns = sessionsOfTurns(report)
      if (flags.json) process.stdout.write(`${JSON.stringify({ version: 1, run: report.run, turns }, null, 2)}\n`)
      else
        process.stdout.write(`${report.run}\n${turns.length ? printable(table([HEAD, ...turns.map(row)])) : 'No turn is finished yet.'}\n`)
      done(EXIT.approved)
    })
}
