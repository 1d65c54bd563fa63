import type { Command } from 'commander'
import { LoopError } from '../../lib/loop/errors.ts'
import type { ExitCode } from '../terminal/exit.ts'
import { callRemote, parseRemote } from '../terminal/remote.ts'
import { signOfLife } from '../terminal/sign-of-life.ts'

interface StartFlags {
  remote?: string
  repository: string
  branch: string
  base?: string
  head?: string
  again?: boolean
}

export const startCommand = (program: Command, done: (code: ExitCode) => void): void => {
  program
    .command('start')
    .description('start a run in a deployment, signed with your AWS credentials')
    .requiredOption('--remote <url>', 'address of the API of the deployment')
    .requiredOption('--repository <url>', 'repository, one of the deployment')
    .requiredOption('--branch <name>', 'branch to review')
    .option('--base <branch>', 'branch to compare with (default: that of the repository)')
    .option('--head <commit>', 'commit that has to be the head of the branch')
    .option('--again', 'a new attempt where the same request has ended before')
    .action(async ({ remote, ...flags }: StartFlags) => {
      if (!remote) throw new LoopError('BadRequest', 'Name the deployment with --remote URL.')
      const { repository, branch, base, head, again = false } = flags
      const body = { repository, branch, again, ...(base ? { base } : {}), ...(head ? { head } : {}) }
      const url = parseRemote(remote)
      const answer = await signOfLife(`waiting for ${url.host}`, false, () => callRemote(url, 'POST', '/runs', body))
      process.stdout.write(`${JSON.stringify(answer, null, 2)}\n`)
      done(0)
    })
}
