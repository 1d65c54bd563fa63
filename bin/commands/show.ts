import type { Command } from 'commander'
import { asTyped } from '../terminal/command-name.ts'
import { printReport } from '../terminal/report.ts'
import type { ExitCode } from '../terminal/exit.ts'
import { callRemote, parseRemote } from '../terminal/remote.ts'
import { signOfLife } from '../terminal/sign-of-life.ts'
import { withSession } from '../terminal/session.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import { runId } from '../../lib/loop/run.ts'
import { findRun } from './find-run.ts'
import { outputsOf, reportFlags, type CommonFlags } from './flags.ts'

type ShowFlags = CommonFlags & { remote?: string }

const showRemote = async (remote: string, named: string | undefined): Promise<void> => {
  const id = runId.safeParse(named)
  if (!id.success) throw new LoopError('BadRequest', 'Name the run by its whole id: `reviewloop show r-… --remote URL`.')
  const url = parseRemote(remote)
  const answer = await signOfLife(`waiting for ${url.host}`, false, () => callRemote(url, 'GET', `/runs/${id.data}`))
  process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`)
}

export const showCommand = (program: Command, done: (code: ExitCode) => void): void => {
  reportFlags(program.command('show').argument('[run]', 'run to show; the newest when left out'))
    .description('show a run: its turns, sessions, findings with their history, and what it asks')
    .option('--remote <url>', 'ask a deployment, signed with your AWS credentials')
    .action(async (named: string | undefined, flags: ShowFlags) => {
      if (flags.remote) await showRemote(flags.remote, named)
      else {
        const outputs = outputsOf(flags)
        await withSession({ data: flags.data, own: false, existing: true, quiet: flags.quiet }, async ({ loop }) => {
          const run = await findRun(loop.ports.runs, named, [() => true], asTyped('run yet: start one with `reviewloop run`'))
          await printReport(loop, run, { outputs, stdout: process.stdout, stderr: process.stderr, history: true, quiet: true })
        })
      }
      done(0)
    })
}
