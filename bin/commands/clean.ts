import { createInterface } from 'node:readline/promises'
import { rm } from 'node:fs/promises'
import type { Command } from 'commander'
import { isDataFolder } from '../../lib/local/data-folder.ts'
import { dataFolderPath } from '../../lib/local/data-path.ts'
import { executionNames } from '../../lib/local/execution-names.ts'
import type { LocalLoop } from '../../lib/local/local-loop.ts'
import { runFolder } from '../../lib/local/run-folder.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import type { RunItem } from '../../lib/loop/items.ts'
import { ARTIFACTS, TURN_ROLES } from '../../lib/names.ts'
import { EXIT, type ExitCode } from '../terminal/exit.ts'
import { withSession } from '../terminal/session.ts'
import { somebodyIsThere } from '../terminal/settle.ts'
import { dataFlag, type CommonFlags } from './flags.ts'

type CleanFlags = CommonFlags & { olderThan: string; dryRun?: boolean; yes?: boolean }

const DAY = 24 * 3600 * 1000
const UNITS: Record<string, number> = { m: 60_000, h: 3600_000, d: DAY, w: 7 * DAY }

/** `30d`, `12h`, `0d`: milliseconds. Errors: BadRequest. */
export const parseAge = (text: string): number => {
  const [, count, unit = 'd'] = /^(\d{1,5})([mhdw]?)$/.exec(text) ?? []
  if (count === undefined)
    throw new LoopError('BadRequest', `--older-than takes a number of days, or 90m, 12h, 30d, 4w; not ${JSON.stringify(text)}.`)
  return Number(count) * (UNITS[unit || 'd'] ?? DAY)
}

/** Takes everything of an ended run away. The run item goes last, so that it can be done again after being cut off. */
const cleanRun = async ({ ports, folder }: LocalLoop, { runId }: RunItem): Promise<void> => {
  for (const kind of ARTIFACTS) {
    await ports.artifacts.deleteAll(`${kind}/${runId}/`)
    for (const role of TURN_ROLES) await ports.artifacts.deleteAll(`${kind}/${role}/${runId}/`)
  }
  await rm(runFolder(folder.path, runId), { recursive: true, force: true })
  await executionNames(folder.path).forget(runId)
  await ports.runs.forget(runId)
}

const confirmed = async (count: number): Promise<boolean> => {
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await terminal.question(`Take ${count} run(s) away for good? [y/N] `)).trim())
  } finally {
    terminal.close()
  }
}

export const cleanCommand = (program: Command, done: (code: ExitCode) => void): void => {
  dataFlag(program.command('clean'))
    .description('take ended runs out of the data folder; branches in repositories stay')
    .option('--older-than <age>', 'only runs that ended longer ago: 30d, 12h, 4w', '30d')
    .option('--dry-run', 'only say what would go')
    .option('-y, --yes', 'do not ask')
    .action(async (flags: CleanFlags) => {
      const before = Date.now() - parseAge(flags.olderThan)
      if (!(await isDataFolder(dataFolderPath(flags.data)))) {
        process.stdout.write('0 run(s) to take away.\n')
        return done(EXIT.approved)
      }
      const code = await withSession({ data: flags.data, own: !flags.dryRun }, async ({ loop }) => {
        const runs = (await loop.ports.runs.list()).filter(
          (run) => run.status === 'ended' && run.endedAt && Date.parse(run.endedAt) <= before,
        )
        for (const run of runs) process.stdout.write(`${run.runId}  ended ${run.endedAt}  ${run.request.repository}\n`)
        if (flags.dryRun || runs.length === 0) {
          process.stdout.write(`${runs.length} run(s) ${flags.dryRun ? 'would go' : 'to take away'}.\n`)
          return EXIT.approved
        }
        if (!flags.yes && !somebodyIsThere())
          throw new LoopError('BadRequest', 'Nobody is there to confirm: add --yes, or --dry-run to look first.')
        if (!flags.yes && !(await confirmed(runs.length))) return EXIT.ended
        for (const run of runs) await cleanRun(loop, run)
        process.stdout.write(`${runs.length} run(s) taken away.\n`)
        return EXIT.approved
      })
      done(code)
    })
}
