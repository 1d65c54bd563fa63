import type { Command } from 'commander'
import { isDataFolder } from '../../lib/local/data-folder.ts'
import { dataFolderPath } from '../../lib/local/data-path.ts'
import type { RunItem } from '../../lib/loop/items.ts'
import { viewOf } from '../../lib/loop/view.ts'
import { oneLine } from '../../lib/loop/redact.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import type { ExitCode } from '../terminal/exit.ts'
import { asTyped } from '../terminal/command-name.ts'
import { withSession } from '../terminal/session.ts'
import { dataFlag, outputsOf, type CommonFlags } from './flags.ts'

/** Columns as wide as their widest cell. */
const table = (rows: readonly string[][]): string => {
  const widths = rows[0]?.map((_cell, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0))) ?? []
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const row = (run: RunItem): string[] => [
  run.runId,
  run.verdict && run.status === 'ended' ? `${run.verdict.outcome} (${run.verdict.reason})` : run.status,
  run.createdAt.slice(0, 16).replace('T', ' '),
  run.request.head.slice(0, 10),
  oneLine(run.request.branch ?? '-', 40),
  oneLine(run.request.repository, 80),
]

export const listCommand = (program: Command, done: (code: ExitCode) => void): void => {
  dataFlag(program.command('list'))
    .description('list the runs of the data folder, newest first')
    .option('--output <format>', 'text or json')
    .action(async (flags: Omit<CommonFlags, 'output'> & { output?: string }) => {
      const { stdout } = outputsOf(flags.output ? { output: [flags.output] } : {})
      if (stdout !== 'text' && stdout !== 'json') throw new LoopError('BadRequest', 'list prints text or json.')
      // looking makes no data folder
      const runs = (await isDataFolder(dataFolderPath(flags.data)))
        ? await withSession({ data: flags.data, own: false }, ({ loop }) => loop.ports.runs.list())
        : []
      if (stdout === 'json')
        process.stdout.write(`${JSON.stringify({ version: 1, runs: runs.map((run) => viewOf(run, []).run) }, null, 2)}\n`)
      else if (runs.length === 0) process.stdout.write(asTyped('No run yet: start one with `reviewloop run`.\n'))
      else process.stdout.write(`${table([['RUN', 'STATUS', 'STARTED (UTC)', 'HEAD', 'BRANCH', 'REPOSITORY'], ...runs.map(row)])}\n`)
      done(0)
    })
}
