import type { Command } from 'commander'
import { LoopError } from '../../lib/loop/errors.ts'
import { EXIT, type ExitCode } from '../terminal/exit.ts'
import { settleRemote } from '../terminal/remote-run.ts'
import { callRemote, parseRemote } from '../terminal/remote.ts'
import { signOfLife } from '../terminal/sign-of-life.ts'
import { outputFlags, outputsOf, remoteFlag, type RemoteFlags, waitFlag } from './flags.ts'

interface StartFlags extends RemoteFlags {
  repository: string
  branch: string
  base?: string
  head?: string
  again?: boolean
  yes?: boolean
}

export const startCommand = (program: Command, done: (code: ExitCode) => void): void => {
  outputFlags(waitFlag(remoteFlag(program.command('start'))))
    .description('start a run in a deployment, signed with your AWS credentials')
    .requiredOption('--repository <url>', 'repository, one of the deployment')
    .requiredOption('--branch <name>', 'branch to review')
    .option('--base <branch>', 'branch to compare with (default: that of the repository)')
    .option('--head <commit>', 'commit that has to be the head of the branch')
    .option('--again', 'a new attempt where the same request has ended before')
    .option('-y, --yes', 'ask nobody: what would park ends as changes requested')
    .action(async ({ remote, ...flags }: StartFlags) => {
      if (!remote) throw new LoopError('BadRequest', 'Name the deployment with --remote URL.')
      const outputs = outputsOf(flags)
      const { repository, branch, base, head, again = false, quiet = false } = flags
      const overrides = flags.yes ? { overrides: { ask: 'never' } } : {}
      const body = { repository, branch, again, ...overrides, ...(base ? { base } : {}), ...(head ? { head } : {}) }
      const url = parseRemote(remote)
      const answer = await signOfLife(`waiting for ${url.host}`, quiet, () => callRemote(url, 'POST', '/runs', body))
      if (flags.wait) {
        const { runId } = (answer as { run: { runId: string } }).run
        return done(await settleRemote(url, runId, outputs, quiet))
      }
      process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`)
      done(EXIT.approved)
    })
}
