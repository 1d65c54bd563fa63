import type { Command } from 'commander'
import { setTimeout as sleep } from 'node:timers/promises'
import { readRun } from '../../lib/loop/current-run.ts'
import { decideRun } from '../../lib/loop/decide.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import type { RunItem } from '../../lib/loop/items.ts'
import { answerOf, type AnswerFlags } from '../terminal/answer.ts'
import { EXIT, type ExitCode } from '../terminal/exit.ts'
import { findRemote, printRemote, reportRemote, settleRemote } from '../terminal/remote-run.ts'
import { callRemote, parseRemote } from '../terminal/remote.ts'
import { signOfLife } from '../terminal/sign-of-life.ts'
import { withSession, type Session } from '../terminal/session.ts'
import { openFindings, settle, type SettleOptions } from '../terminal/settle.ts'
import { findRun } from './find-run.ts'
import { outputsOf, remoteFlag, reportFlags, type RemoteFlags, waitFlag } from './flags.ts'
import { goOn, scenarioOf } from './resume.ts'

type DecideFlags = RemoteFlags & AnswerFlags & { question?: string; scenario?: string }

const collect = (value: string, before: string[] | undefined): string[] => [...(before ?? []), value]

const record = async (session: Session, named: string | undefined, flags: DecideFlags): Promise<RunItem> => {
  // with none parked, the newest that ever asked: the same answer again is answered alike, another is stale
  const wanted = [(item: RunItem) => item.status === 'parked', (item: RunItem) => item.question !== null]
  const run = await findRun(session.loop.ports.runs, named, wanted, 'parked run')
  const open = await openFindings(session, run)
  return decideRun(session.loop.ports, run.runId, {
    question: flags.question,
    answer: answerOf(flags, open),
    by: session.by,
  })
}

/** The owner of the data folder goes on with a run that waits in its hands; any other run has to wait until the owner lets go. */
const waitForOwner = async (session: Session, runId: string): Promise<boolean> => {
  const { loop, progress } = session
  const { pid } = loop.folder.owner
  progress.line(`Recorded. Process ${pid} owns the data folder; the run goes on in it, or here once it lets go.`)
  progress.begin(`waiting for process ${pid}`)
  try {
    for (;;) {
      const run = await readRun(loop.ports.runs, runId)
      if (run.status === 'ended' || (run.status === 'parked' && !run.decision)) return true
      await sleep(300)
    }
  } catch (error) {
    // the owner ended, and its socket with it
    if (error instanceof LoopError && error.name === 'StoreUnavailable') return false
    throw error
  } finally {
    progress.end()
  }
}

const decideAndGoOn = async (named: string | undefined, flags: DecideFlags): Promise<ExitCode> => {
  const options: SettleOptions = { outputs: outputsOf(flags), asks: false, quiet: flags.quiet ?? false }
  const common = { data: flags.data, existing: true, quiet: flags.quiet, scenario: scenarioOf(flags) }
  const first = await withSession({ ...common, own: false }, async (session) => {
    const run = await record(session, named, flags)
    if (session.loop.folder.owned) return { code: await goOn(session, run, options) }
    const over = await waitForOwner(session, run.runId)
    return over ? { code: await settle(session, run.runId, options) } : { runId: run.runId }
  })
  if ('code' in first) return first.code
  return withSession({ ...common, own: true }, async (session) =>
    goOn(session, await readRun(session.loop.ports.runs, first.runId), options),
  )
}

/** Answers a run of a deployment, which goes on by itself. */
const decideRemote = async (remote: string, named: string | undefined, flags: DecideFlags): Promise<ExitCode> => {
  const outputs = outputsOf(flags)
  const { quiet = false } = flags
  const url = parseRemote(remote)
  const id = await findRemote(url, named, ['parked'], 'parked run')
  await signOfLife(`waiting for ${url.host}`, quiet, async () => {
    const { findings } = await reportRemote(url, id)
    const answer = answerOf(
      flags,
      findings.filter(({ status }) => status === 'open'),
    )
    await callRemote(url, 'POST', `/runs/${id}/decision`, { answer, ...(flags.question ? { question: flags.question } : {}) })
  })
  if (flags.wait) return settleRemote(url, id, outputs, quiet)
  await printRemote(url, id, outputs)
  return EXIT.approved
}

export const decideCommand = (program: Command, done: (code: ExitCode) => void): void => {
  waitFlag(remoteFlag(reportFlags(program.command('decide').argument('[run]', 'parked run; the newest when left out'))))
    .description('answer a parked run, and go on with it')
    .option('--approve', 'approve as it is, with what is open')
    .option('--fix <id...>', 'fix these findings in one more round; `all`: every open one that is more than information')
    .option('--note <text>', 'what the fixer should know, for all findings')
    .option('--note-for <id=text>', 'what the fixer should know of one finding; may be repeated', collect)
    .option('--decline <id...>', 'with --fix: findings that are no longer to block')
    .option('--add <file[:line]:text>', 'a finding of your own to fix; may be repeated', collect)
    .option('--skip', 'leave it: changes requested')
    .option('--abort', 'end the run')
    .option('--question <id>', 'only if this is the question that is open (`show` prints it)')
    .option('--scenario <file>', 'scenario of the scripted agent')
    .action(async (named: string | undefined, flags: DecideFlags) =>
      done(await (flags.remote ? decideRemote(flags.remote, named, flags) : decideAndGoOn(named, flags))),
    )
}
