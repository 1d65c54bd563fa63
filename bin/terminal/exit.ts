/** Exit codes, in one place: documented in `reviewloop --help`. */
import type { LoopError } from '../../lib/loop/errors.ts'
import type { RunItem } from '../../lib/loop/items.ts'

export const EXIT = {
  approved: 0,
  changesRequested: 1,
  usage: 2,
  parked: 3,
  failed: 4,
  /** Aborted or superseded. */
  ended: 5,
  interrupted: 130,
} as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

export const EXIT_HELP = `Exit codes
  0  approved
  1  changes requested (also: not certified, a limit reached, nobody answered in time)
  2  usage or bad input
  3  parked: the run waits for a decision
  4  failed
  5  aborted or superseded
  130  interrupted: \`reviewloop resume\` goes on`

/** What went into the run was wrong, and only the run could find it. */
const BAD_INPUT = new Set(['BadRequest', 'BadSettings', 'NotARepository', 'NoCommit', 'NoBase'])

/** How a run that is not under way ends the command. */
export const exitCodeOfRun = (run: Pick<RunItem, 'status' | 'verdict'>): ExitCode => {
  if (run.status === 'parked') return EXIT.parked
  const { verdict } = run
  if (run.status !== 'ended' || !verdict) return EXIT.interrupted
  switch (verdict.outcome) {
    case 'approved':
      return EXIT.approved
    case 'changes-requested':
      return EXIT.changesRequested
    case 'aborted':
    case 'superseded':
      return EXIT.ended
    case 'failed':
      return verdict.error && BAD_INPUT.has(verdict.error) ? EXIT.usage : EXIT.failed
  }
}

/** How an error that ended the command itself does: what the user can mend is 2. */
export const exitCodeOfError = (error: LoopError): ExitCode => {
  if (error.name === 'Interrupted') return EXIT.interrupted
  return error.entry.class === 'user' ? EXIT.usage : EXIT.failed
}
