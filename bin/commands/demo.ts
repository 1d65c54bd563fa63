import { cp, mkdir, readdir } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { shellWord } from '../../lib/loop/take-fixes.ts'
import { git } from '../../lib/workspace/git.ts'
import { commandName, commandOn } from '../terminal/command-name.ts'
import { EXIT, type ExitCode } from '../terminal/exit.ts'
import { runHere } from './run.ts'

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url))
const EXAMPLE = join(CHECKOUT, 'examples', 'demo')
const BRANCH = 'currencies'

interface DemoFlags {
  folder?: string
  stubborn?: boolean
  quiet?: boolean
}

/** Each demo has a repository of its own, so that it can be run again. */
const newFolder = async (below: string): Promise<string> => {
  await mkdir(below, { recursive: true, mode: 0o700 })
  const last = Math.max(0, ...(await readdir(below)).map(Number).filter(Number.isInteger))
  for (let number = last + 1; ; number++) {
    const folder = join(below, String(number))
    // made by this call alone: two demos at once do not share one
    if (
      await mkdir(folder).then(
        () => true,
        () => false,
      )
    )
      return folder
  }
}

/** A real repository: `main` with a clean project, and a branch with a change that has real defects. */
const makeRepository = async (folder: string, stubborn: boolean): Promise<void> => {
  const options = {
    cwd: folder,
    config: { 'user.name': 'Reviewloop Demo', 'user.email': 'demo@reviewloop.invalid', 'commit.gpgsign': 'false' },
  }
  const commit = async (from: string, message: string): Promise<void> => {
    await cp(join(EXAMPLE, from), folder, { recursive: true })
    await git(['add', '--all'], options)
    await git(['commit', '--quiet', '--no-verify', '-m', message], options)
  }
  await git(['init', '--quiet', '--template=', '--initial-branch=main'], options)
  await commit('base', 'Print invoices')
  await git(['switch', '--quiet', '-c', BRANCH], options)
  await commit('head', 'Add currencies')
  if (stubborn) await commit('stubborn', 'Add rates that were typed in by hand')
}

const demo = async (flags: DemoFlags): Promise<ExitCode> => {
  const data = resolve(flags.folder ?? join(CHECKOUT, '.reviewloop'))
  const repository = await newFolder(join(data, 'demo'))
  await makeRepository(repository, flags.stubborn ?? false)
  const dataFolder = join(data, 'data')
  const say = (text: string) => process.stderr.write(`${text}\n`)
  say(
    `A repository was made from examples/demo. This is the same as:\n  ${commandOn(dataFolder, `run ${shellWord(repository)} --base main`)}\n`,
  )
  const code = await runHere(repository, { base: 'main', data: dataFolder, ...(flags.quiet ? { quiet: true } : {}) })
  if (code !== EXIT.parked) say(`\nLook at the fixes:\n  git -C ${shellWord(repository)} log --stat --branches --not ${BRANCH}`)
  say(`\nOn a repository of your own, with your change committed on a branch:\n  ${commandName()} run ../your-project --base main`)
  return code
}

export const demoCommand = (program: Command, done: (code: ExitCode) => void): void => {
  program
    .command('demo')
    .description('make a small repository with real defects in it, and run the loop on it')
    .option('--stubborn', 'with a defect that no tool can fix: the run parks and asks')
    .option('--folder <dir>', 'where its repositories and data go (default: .reviewloop in the checkout)')
    .option('-q, --quiet', 'no progress on stderr')
    .action(async (flags: DemoFlags) => done(await demo(flags)))
}
