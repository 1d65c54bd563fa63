import { cp, mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { git } from '../../lib/workspace/git.ts'
import { commandName } from '../terminal/command-name.ts'
import { EXIT, type ExitCode } from '../terminal/exit.ts'
import { shellWord } from '../terminal/report.ts'
import { runHere } from './run.ts'

const CHECKOUT = fileURLToPath(new URL('../..', import.meta.url))
const EXAMPLE = join(CHECKOUT, 'examples', 'demo')
const BRANCH = 'add-parcels'

interface DemoFlags {
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
    if (await mkdir(folder).then(() => true, () => false)) return folder
  }
}

/** A real repository: `main` with a clean project, and a branch with a change that has real defects. */
const makeRepository = async (folder: string, stubborn: boolean): Promise<void> => {
  const options = { cwd: folder, config: { 'user.name': 'Reviewloop Demo', 'user.email': 'demo@reviewloop.invalid', 'commit.gpgsign': 'false' } }
  const commit = async (from: string, message: string): Promise<void> => {
    await cp(join(EXAMPLE, from), folder, { recursive: true })
    await git(['add', '--all'], options)
    await git(['commit', '--quiet', '--no-verify', '-m', message], options)
  }
  await git(['init', '--quiet', '--template=', '--initial-branch=main'], options)
  await commit('base', 'Weigh parcels')
  await git(['switch', '--quiet', '-c', BRANCH], options)
  await commit('head', 'Add rates, labels and a page')
  if (stubborn) await commit('stubborn', 'Add what no tool can fix')
}

export const demo = async (flags: DemoFlags): Promise<ExitCode> => {
  const data = join(CHECKOUT, '.reviewloop')
  const repository = await newFolder(join(data, 'demo'))
  await makeRepository(repository, flags.stubborn ?? false)
  const cli = commandName()
  const say = (text: string) => process.stderr.write(`${text}\n`)
  say(`A repository was made from examples/demo: ${repository}\nThe same as: ${cli} run ${shellWord(repository)} --base main --data ${shellWord(join(data, 'data'))}\n`)
  const code = await runHere(repository, { base: 'main', data: join(data, 'data'), ...(flags.quiet ? { quiet: true } : {}) })
  const inIt = `git -C ${shellWord(repository)}`
  say('')
  if (code === EXIT.parked) say(`It waits for you, with its data in ${join(data, 'data')}:\n  ${cli} decide --approve --data ${shellWord(join(data, 'data'))}`)
  else say(`Look at the fixes:\n  ${inIt} log --stat --all ${BRANCH}..`)
  say(`On a repository of your own, with your change committed:\n  ${cli} run ../your-project --base main`)
  return code
}

export const demoCommand = (program: Command, done: (code: ExitCode) => void): void => {
  program
    .command('demo')
    .description('make a small repository with real defects in it, and run the loop on it')
    .option('--stubborn', 'with a defect that no tool can fix: the run parks and asks')
    .option('-q, --quiet', 'no progress on stderr')
    .action(async (flags: DemoFlags) => done(await demo(flags)))
}
