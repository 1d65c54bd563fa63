import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { LoopError } from '../../lib/loop/errors.ts'
import { SETTINGS_FILE } from '../../lib/loop/policy.ts'
import { settingsExample } from '../../lib/loop/settings-example.ts'
import { gitText } from '../../lib/workspace/git.ts'
import type { ExitCode } from '../terminal/exit.ts'

const rootOf = async (path: string): Promise<string> => {
  try {
    return (await gitText(['rev-parse', '--show-toplevel'], { cwd: path })).trim()
  } catch (cause) {
    throw new LoopError('NotARepository', `${path} is not in the working tree of a git repository.`, { path }, { cause })
  }
}

export const initCommand = (program: Command, done: (code: ExitCode) => void): void => {
  program
    .command('init')
    .description(`write a commented ${SETTINGS_FILE}, every key at its default`)
    .argument('[path]', 'repository, or a folder in it', '.')
    .option('--force', 'replace the file that is there')
    .action(async (path: string, flags: { force?: boolean }) => {
      const file = join(await rootOf(resolve(path)), SETTINGS_FILE)
      try {
        await writeFile(file, settingsExample(), { flag: flags.force ? 'w' : 'wx' })
      } catch (cause) {
        const there = cause instanceof Error && 'code' in cause && cause.code === 'EEXIST'
        throw new LoopError(
          'BadRequest',
          there ? `${file} exists: --force replaces it.` : `${file} could not be written.`,
          { file },
          { cause },
        )
      }
      process.stdout.write(`${file} written. It counts once it is on the base branch: settings come from there.\n`)
      done(0)
    })
}
