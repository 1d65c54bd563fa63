import { resolve } from 'node:path'
import type { Command } from 'commander'
import { executionName } from '../../lib/names.ts'
import type { RunItem } from '../../lib/loop/items.ts'
import { resumeRun } from '../../lib/loop/resume.ts'
import { withSession, type Session } from '../terminal/session.ts'
import { settle, somebodyIsThere, type SettleOptions } from '../terminal/settle.ts'
import type { ExitCode } from '../terminal/exit.ts'
import { findRun } from './find-run.ts'
import { outputsOf, reportFlags, type CommonFlags } from './flags.ts'

export interface GoOnFlags extends CommonFlags {
  yes?: boolean
  scenario?: string
}

/** A scenario file is meant from where the command was typed. */
export const scenarioOf = ({ scenario }: { scenario?: string }): string | undefined =>
  scenario === undefined ? undefined : resolve(scenario)

export const asksWith = (flags: GoOnFlags): boolean => !flags.yes && somebodyIsThere()

/** Goes on with a run where it stands, unless it runs here already, and takes it to its end. */
export const goOn = async (session: Session, run: RunItem, options: SettleOptions): Promise<ExitCode> => {
  const here = session.loop.engine.names().includes(executionName(run.runId, run.epoch))
  if (!run.closed && !here) await resumeRun(session.loop.ports, run.runId)
  return settle(session, run.runId, options)
}

export const resumeCommand = (program: Command, done: (code: ExitCode) => void): void => {
  reportFlags(program.command('resume').argument('[run]', 'run to go on with; the newest that has not ended when left out'))
    .description('go on with a run that was interrupted, killed or parked')
    .option('-y, --yes', 'ask nobody: a run that is parked stays parked')
    .option('--scenario <file>', 'scenario of the scripted agent')
    .action(async (named: string | undefined, flags: GoOnFlags) => {
      const outputs = outputsOf(flags)
      const asks = asksWith(flags)
      const code = await withSession(
        { data: flags.data, own: true, existing: true, waits: asks, quiet: flags.quiet, scenario: scenarioOf(flags) },
        async (session) => {
          const run = await findRun(session.loop.ports.runs, named, [(item) => !item.closed], 'run that has not ended')
          return goOn(session, run, { outputs, asks, quiet: flags.quiet ?? false })
        },
      )
      done(code)
    })
}
