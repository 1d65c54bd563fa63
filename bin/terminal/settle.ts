/** From a run under way to the end of the command: follows it, asks where somebody is there, reports, and gives the exit code. */
import { follow, type Asking } from '../../lib/local/follow.ts'
import { reportOf } from '../../lib/local/run-folder.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import type { TrackedFinding } from '../../lib/loop/finding.ts'
import type { RunItem } from '../../lib/loop/items.ts'
import { askPerson } from './ask.ts'
import { commandOn } from './command-name.ts'
import { exitCodeOfRun, type ExitCode } from './exit.ts'
import type { Outputs } from './output.ts'
import { paintFor } from './paint.ts'
import { printReport } from './report.ts'
import type { Session } from './session.ts'

/** Whether a person sits at this terminal and can be asked. */
export const somebodyIsThere = (): boolean => process.stdin.isTTY && process.stderr.isTTY

export const openFindings = async ({ loop }: Pick<Session, 'loop'>, run: RunItem): Promise<TrackedFinding[]> =>
  (await reportOf(loop.ports, run)).report.findings.filter((finding) => finding.status === 'open')

export interface SettleOptions {
  outputs: Outputs
  /** Asks when the run parks. */
  asks: boolean
  quiet: boolean
  history?: boolean
}

export const settle = async (session: Session, runId: string, options: SettleOptions): Promise<ExitCode> => {
  const { loop, progress } = session
  const asking: Asking | null = options.asks
    ? {
        by: session.by,
        tell: (message) => progress.line(message),
        ask: async (run, signal) => {
          await progress.stop()
          const keyboard = { input: process.stdin, output: process.stderr }
          return askPerson(keyboard, (asked) => openFindings(session, asked), paintFor(process.stderr))(run, signal)
        },
      }
    : null
  const run = await follow(loop, runId, asking).catch((error: unknown) => {
    if (!(error instanceof LoopError) || error.name !== 'Interrupted') throw error
    throw new LoopError('Interrupted', error.message, {
      ...error.details,
      remedy: `Go on with \`${commandOn(loop.folder.path, `resume ${runId}`)}\`.`,
    })
  })
  // a run that was superseded on the way is closed before this process lets go
  await Promise.all(loop.engine.names().map((name) => loop.engine.waitFor(name)))
  await progress.stop()
  const { outputs, quiet, history = false } = options
  await printReport(loop, run, { outputs, quiet, history, stdout: process.stdout, stderr: process.stderr })
  return exitCodeOfRun(run)
}
