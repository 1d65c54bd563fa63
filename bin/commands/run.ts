import { resolve } from 'node:path'
import type { Command } from 'commander'
import type { LocalLoop } from '../../lib/local/local-loop.ts'
import { agentsOf } from '../../lib/loop/deployment.ts'
import { nextAttempt } from '../../lib/loop/door.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import { fixBranch } from '../../lib/loop/publish.ts'
import { oneLine } from '../../lib/loop/redact.ts'
import type { RunRequest } from '../../lib/loop/run.ts'
import { runIdOf } from '../../lib/loop/run-id.ts'
import { startRun } from '../../lib/loop/start.ts'
import { assertFree } from '../../lib/workspace/local-branch.ts'
import type { LocalRepository } from '../../lib/workspace/local-repository.ts'
import { asTyped } from '../terminal/command-name.ts'
import { EXIT, type ExitCode } from '../terminal/exit.ts'
import { withSession, type Session } from '../terminal/session.ts'
import { signOfLife } from '../terminal/sign-of-life.ts'
import { outputsOf, reportFlags } from './flags.ts'
import { readRepository } from './read-repository.ts'
import { asksWith, goOn, scenarioOf, type GoOnFlags } from './resume.ts'

export interface RunFlags extends GoOnFlags {
  base?: string
  head?: string
  branch?: string
  again?: boolean
  agent?: string[]
  rounds?: string
}

/** What the flags override of the settings. Errors: BadRequest. */
export const overridesOf = (flags: RunFlags): RunRequest['overrides'] => {
  const order = flags.agent ?? (flags.scenario ? ['scripted'] : null)
  const rounds = flags.rounds === undefined ? null : Number(flags.rounds)
  if (flags.rounds === '' || (rounds !== null && (!Number.isInteger(rounds) || rounds < 0 || rounds > 10)))
    throw new LoopError('BadRequest', `--rounds takes a whole number from 0 to 10, not ${JSON.stringify(flags.rounds)}.`)
  return {
    ...(order ? { agent: { reviewer: order, fixer: order, certifier: order } } : {}),
    ...(rounds === null ? {} : { rounds }),
    ...(flags.yes ? { ask: 'never' as const } : {}),
  }
}

const uncommittedLines = ({ uncommitted }: LocalRepository): string[] =>
  uncommitted.length === 0
    ? []
    : [
        `Not reviewed, for it is not committed: ${uncommitted.length} file(s).`,
        ...uncommitted.slice(0, 10).map((path) => `  ${oneLine(path)}`),
        ...(uncommitted.length > 10 ? [`  and ${uncommitted.length - 10} more`] : []),
      ]

const nothingToDo = (repository: LocalRepository): string => {
  const { base, head, branch } = repository
  const what = branch ?? head.slice(0, 10)
  const why =
    base.commit === head
      ? `${what} and its base ${base.name} are the same commit (${head.slice(0, 10)}): there is nothing to review.`
      : `${base.name} already has ${what} (${head.slice(0, 10)}): there is nothing to review.`
  return [why, ...uncommittedLines(repository), asTyped('Name another base to compare with: reviewloop run --base main~3')].join('\n')
}

/** The branch for the fixes has to be free before the work begins; a request that was made before has put them where they are. */
const assertBranchFree = async ({ ports }: LocalLoop, request: RunRequest): Promise<void> => {
  const runId = runIdOf(request, agentsOf(ports, request.repository))
  if (await ports.runs.runs.read(runId)) return
  await assertFree(request.repository, fixBranch({ runId, request }), request.branch)
}

const start = async (session: Session, repository: LocalRepository, flags: RunFlags): Promise<ExitCode> => {
  const { loop, progress } = session
  // what the flags name is looked for before a run is made of it
  const { agent } = overridesOf(flags)
  if (agent?.reviewer) await loop.ports.agents.find(agent.reviewer)
  const first: RunRequest = {
    repository: repository.root,
    branch: repository.branch,
    base: repository.base.commit,
    head: repository.head,
    overrides: overridesOf(flags),
    attempt: 1,
    publishTo: flags.branch ?? null,
  }
  const request = flags.again ? await nextAttempt(loop.ports, first) : first
  await assertBranchFree(loop, request)
  const { run, started } = await startRun(loop.ports, { request, startedBy: 'cli', checkHead: true, again: flags.again ?? false })
  const what = `${repository.branch ?? 'commit'} ${repository.head.slice(0, 10)} against ${repository.base.name} ${repository.base.mergeBase.slice(0, 10)}`
  progress.line(`Run ${run.runId}: ${oneLine(what)} in ${repository.root}`)
  for (const line of uncommittedLines(repository)) progress.line(line)
  if (!started && run.status === 'ended')
    progress.line('The same request was made before: this is what it came to. For a new attempt: --again')
  else if (!started)
    progress.line('A run of this change is under way: it goes on, by the wishes it was started with. For one of its own: --again')
  return goOn(session, run, { outputs: outputsOf(flags), asks: asksWith(flags), quiet: flags.quiet ?? false })
}

/** Reviews the change of the repository around `path`. */
export const runHere = async (path: string, flags: RunFlags): Promise<ExitCode> => {
  outputsOf(flags)
  overridesOf(flags)
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path))
    throw new LoopError('BadRequest', 'run takes a folder of this machine, not an address: clone the repository and run it there.')
  const wanted = { ...(flags.head === undefined ? {} : { head: flags.head }), ...(flags.base === undefined ? {} : { base: flags.base }) }
  const repository = await signOfLife('reading the repository', flags.quiet, () => readRepository(resolve(path), wanted))
  if (repository.base.mergeBase === repository.head) {
    const { head, base, uncommitted } = repository
    if (outputsOf(flags).stdout === 'text') process.stdout.write(`${nothingToDo(repository)}\n`)
    else process.stderr.write(`${nothingToDo(repository)}\n`)
    if (outputsOf(flags).stdout === 'json')
      process.stdout.write(
        `${JSON.stringify({ version: 1, run: null, outcome: 'approved', reason: 'nothing-to-review', head, base: base.commit, uncommitted }, null, 2)}\n`,
      )
    return EXIT.approved
  }
  return withSession({ data: flags.data, own: true, waits: asksWith(flags), quiet: flags.quiet, scenario: scenarioOf(flags) }, (session) =>
    start(session, repository, flags),
  )
}

export const runCommand = (program: Command, done: (code: ExitCode) => void): void => {
  reportFlags(program.command('run').argument('[path]', 'repository, or a folder in it', '.'))
    .description('review a change, fix it, review it again, certify it')
    .option('--base <rev>', "what to compare with (default: the head's upstream, else origin/HEAD, main, master)")
    .option('--head <rev>', 'what to review (default: HEAD)')
    .option('--branch <name>', 'branch to put the fixes on (default: reviewloop/<run>)')
    .option('--again', 'a new attempt where the same request has ended before')
    .option('--agent <name...>', 'agents to try, in this order (default: lint)')
    .option('--rounds <n>', 'most rounds of fixing, 0 to 10')
    .option('--scenario <file>', 'scenario of the scripted agent')
    .option('-y, --yes', 'ask nobody: what would park ends as changes requested')
    .action(async (path: string, flags: RunFlags) => done(await runHere(path, flags)))
}
