import { type Command, Option } from 'commander'
import { isDataFolder } from '../../lib/local/data-folder.ts'
import { dataFolderPath } from '../../lib/local/data-path.ts'
import type { RunSummary } from '../../lib/loop/items.ts'
import { isWanted } from '../../lib/loop/run-list.ts'
import { runOf } from '../../lib/loop/view.ts'
import { oneLine } from '../../lib/loop/redact.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import type { ExitCode } from '../terminal/exit.ts'
import { asTyped } from '../terminal/command-name.ts'
import { listRemote } from '../terminal/remote-run.ts'
import { parseRemote } from '../terminal/remote.ts'
import { signOfLife } from '../terminal/sign-of-life.ts'
import { table } from '../terminal/table.ts'
import { withSession } from '../terminal/session.ts'
import { dataFlag, outputsOf, remoteFlag, type RemoteFlags } from './flags.ts'

const row = (run: RunSummary): string[] => [
  run.runId,
  run.verdict && run.status === 'ended' ? `${run.verdict.outcome} (${run.verdict.reason})` : run.status,
  run.createdAt.slice(0, 16).replace('T', ' '),
  run.request.head.slice(0, 10),
  oneLine(run.request.branch ?? '-', 40),
  oneLine(run.request.repository, 80),
]

type ListFlags = Omit<RemoteFlags, 'output' | 'wait'> & {
  output?: string
  repository?: string
  branch?: string
  status?: RunSummary['status']
}

const fromHere = async (flags: ListFlags): Promise<RunSummary[]> => {
  // looking makes no data folder
  if (!(await isDataFolder(dataFolderPath(flags.data)))) return []
  const runs = await withSession({ data: flags.data, own: false }, ({ loop }) => loop.ports.runs.list())
  const { repository, branch, status } = flags
  return runs.filter((run) => isWanted(run, { repository, branch, status })).map((run) => runOf(run).run)
}

const MOST_REMOTE = 200

const fromRemote = async (remote: string, { repository, branch, status, quiet }: ListFlags): Promise<RunSummary[]> => {
  const url = parseRemote(remote)
  return signOfLife(`waiting for ${url.host}`, quiet, () => listRemote(url, { repository, branch, status }, MOST_REMOTE))
}

export const listCommand = (program: Command, done: (code: ExitCode) => void): void => {
  remoteFlag(dataFlag(program.command('list')))
    .description('list runs, newest first')
    .option('--output <format>', 'text or json')
    .option('--repository <name>', 'only runs of this repository')
    .option('--branch <name>', 'only runs of this branch')
    .addOption(new Option('--status <status>', 'only runs of this status').choices(['running', 'parked', 'ended']))
    .action(async (flags: ListFlags) => {
      const { stdout } = outputsOf(flags.output ? { output: [flags.output] } : {})
      if (stdout !== 'text' && stdout !== 'json') throw new LoopError('BadRequest', 'list prints text or json.')
      const runs = flags.remote ? await fromRemote(flags.remote, flags) : await fromHere(flags)
      if (stdout === 'json') process.stdout.write(`${JSON.stringify({ version: 1, runs }, null, 2)}\n`)
      else if (runs.length === 0) process.stdout.write(asTyped('No run yet: start one with `reviewloop run`.\n'))
      else process.stdout.write(`${table([['RUN', 'STATUS', 'STARTED (UTC)', 'HEAD', 'BRANCH', 'REPOSITORY'], ...runs.map(row)])}\n`)
      done(0)
    })
}
