import type { Command } from 'commander'
import { asTyped } from '../terminal/command-name.ts'
import { printReport } from '../terminal/report.ts'
import type { ExitCode } from '../terminal/exit.ts'
import { findRemote, printRemote } from '../terminal/remote-run.ts'
import { parseRemote } from '../terminal/remote.ts'
import { signOfLife } from '../terminal/sign-of-life.ts'
import { withSession } from '../terminal/session.ts'
import { findRun } from './find-run.ts'
import { outputsOf, remoteFlag, reportFlags, type RemoteFlags } from './flags.ts'

export const showCommand = (program: Command, done: (code: ExitCode) => void): void => {
  remoteFlag(reportFlags(program.command('show').argument('[run]', 'run to show; the newest when left out')))
    .description('show a run: its turns, sessions, findings with their history, and what it asks')
    .action(async (named: string | undefined, flags: RemoteFlags) => {
      const outputs = outputsOf(flags)
      if (flags.remote) {
        const url = parseRemote(flags.remote)
        const id = await signOfLife(`waiting for ${url.host}`, flags.quiet, () => findRemote(url, named, [undefined], 'run yet'))
        await printRemote(url, id, outputs, true)
      } else {
        await withSession({ data: flags.data, own: false, existing: true, quiet: flags.quiet }, async ({ loop }) => {
          const run = await findRun(loop.ports.runs, named, [() => true], asTyped('run yet: start one with `reviewloop run`'))
          await printReport(loop, run, { outputs, stdout: process.stdout, stderr: process.stderr, history: true, quiet: true })
        })
      }
      done(0)
    })
}
