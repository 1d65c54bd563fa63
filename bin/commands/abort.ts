import type { Command } from 'commander'
import { abortRun } from '../../lib/loop/end-run.ts'
import { EXIT, type ExitCode } from '../terminal/exit.ts'
import { findRemote, followRemote, printRemote } from '../terminal/remote-run.ts'
import { callRemote, parseRemote } from '../terminal/remote.ts'
import { signOfLife } from '../terminal/sign-of-life.ts'
import { withSession } from '../terminal/session.ts'
import { settle } from '../terminal/settle.ts'
import { findRun } from './find-run.ts'
import { outputsOf, remoteFlag, reportFlags, type RemoteFlags, waitFlag } from './flags.ts'

export const abortCommand = (program: Command, done: (code: ExitCode) => void): void => {
  waitFlag(remoteFlag(reportFlags(program.command('abort').argument('[run]', 'run to end; the newest that has not ended when left out'))))
    .description('end a run; its fix commits are kept as a patch')
    .action(async (named: string | undefined, flags: RemoteFlags) => {
      const outputs = outputsOf(flags)
      if (flags.remote) {
        const url = parseRemote(flags.remote)
        const id = await findRemote(url, named, ['running', 'parked'], 'run that has not ended')
        await signOfLife(`waiting for ${url.host}`, flags.quiet, () => callRemote(url, 'POST', `/runs/${id}/abort`))
        if (flags.wait) await followRemote(url, id, flags.quiet ?? false)
        await printRemote(url, id, outputs)
        return done(EXIT.approved)
      }
      // ending a run takes no turn, so it may be done beside the process that works on it
      await withSession({ data: flags.data, own: false, existing: true, quiet: flags.quiet }, async (session) => {
        const run = await findRun(session.loop.ports.runs, named, [(item) => item.status !== 'ended'], 'run that has not ended')
        await abortRun(session.loop.ports, run.runId, session.by)
        await settle(session, run.runId, { outputs, asks: false, quiet: flags.quiet ?? false })
      })
      done(EXIT.approved)
    })
}
