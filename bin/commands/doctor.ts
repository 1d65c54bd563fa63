import { join } from 'node:path'
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { createAgents, optionalAgents } from '../../lib/agents/registry.ts'
import { openDataFolder } from '../../lib/local/data-folder.ts'
import { dataFolderPath } from '../../lib/local/data-path.ts'
import { asLoopError } from '../../lib/loop/errors.ts'
import { oneLine, redact } from '../../lib/loop/redact.ts'
import { readNoMistakes } from '../../lib/loop/no-mistakes.ts'
import { NO_MISTAKES_FILE, SETTINGS_FILE } from '../../lib/loop/policy.ts'
import { parseSettings } from '../../lib/loop/settings.ts'
import { healthAnswer } from '../../lib/loop/api.ts'
import { firstIssue } from '../../lib/loop/issue.ts'
import { ENV } from '../../lib/names.ts'
import { gitText } from '../../lib/workspace/git.ts'
import { EXIT, type ExitCode } from '../terminal/exit.ts'
import { signOfLife } from '../terminal/sign-of-life.ts'
import { paintFor } from '../terminal/paint.ts'
import { callerOf, callRemote, parseRemote } from '../terminal/remote.ts'
import { dataFlag, type CommonFlags, type RemoteFlags } from './flags.ts'

interface Check {
  name: string
  /** Gives what was found; throws what is wrong. */
  look: () => Promise<string>
  /** It can be done without. */
  optional?: boolean
}

/** Whether `version` is at least `least`, both as numbers with dots. */
export const atLeast = (version: string, least: string): boolean => {
  const [have, want] = [version, least].map((text) => text.split('.').map(Number))
  for (const [index, number] of (want ?? []).entries()) {
    const found = have?.[index] ?? 0
    if (found !== number) return found > number
  }
  return true
}

const WIDTH = 13
const LEAST_NODE = '22.18'
const LEAST_GIT = '2.39'

const node = async (): Promise<string> => {
  if (!atLeast(process.versions.node, LEAST_NODE)) throw new Error(`${process.versions.node}; ${LEAST_NODE} or newer is needed`)
  return process.versions.node
}

const git = async (): Promise<string> => {
  const text = await gitText(['--version'])
  const version = /(\d+\.\d+(?:\.\d+)?)/.exec(text)?.[1] ?? ''
  if (!atLeast(version, LEAST_GIT)) throw new Error(`${version || 'none'}; ${LEAST_GIT} or newer is needed`)
  return version
}

const dataFolder = async (flag: string | undefined): Promise<string> => {
  const folder = await openDataFolder(dataFolderPath(flag))
  await folder.close()
  return folder.owned ? folder.path : `${folder.path}, in use by process ${folder.owner.pid}`
}

const agent = async (name: string): Promise<string> => {
  const [found] = await createAgents().find([name])
  return `${found.id} ${found.version}`
}

/** Why the one agent that was asked for is not there, without its name. */
const reasonIn = ({ reasons }: Readonly<Record<string, unknown>>): string | null =>
  Array.isArray(reasons) ? String(reasons[0]).replace(/^\S+: /, '') : null

const settingsHere = async (): Promise<string> => {
  const root = await gitText(['rev-parse', '--show-toplevel'], { cwd: process.cwd() }).catch(() => null)
  if (root === null) return 'not in a repository'
  const [file, theirs] = [join(root.trim(), SETTINGS_FILE), join(root.trim(), NO_MISTAKES_FILE)]
  const read = (path: string): Promise<string | null> => readFile(path, 'utf8').catch(() => null)
  const text = await read(file)
  if (text !== null) {
    parseSettings(text, file)
    return file
  }
  const other = await read(theirs)
  if (other === null) return 'none; the defaults serve'
  const { taken } = readNoMistakes(other, theirs)
  return `${theirs}; taken of it: ${taken.join(', ') || 'nothing'}`
}

const checksHere = (flags: CommonFlags): Check[] => [
  { name: 'Node', look: node },
  { name: 'git', look: git },
  { name: 'data folder', look: () => dataFolder(flags.data) },
  { name: 'agent lint', look: () => agent('lint') },
  ...optionalAgents().map((name) => ({ name: `agent ${name}`, look: () => agent(name), optional: true })),
  { name: 'settings', look: settingsHere },
  {
    name: 'git token',
    look: async () =>
      process.env[ENV.gitToken] ? `${ENV.gitToken} is set` : `${ENV.gitToken} is not set; only https repositories need it`,
  },
]

const remoteHealth = async (url: URL): Promise<string> => {
  const health = healthAnswer.loose().safeParse(await callRemote(url, 'GET', '/health'))
  if (!health.success) throw new Error(`it answered what this version does not know: ${firstIssue(health.error)}`)
  const { stage, repositories } = health.data
  return `stage ${stage}; it reviews ${repositories.map((name) => oneLine(name, 80)).join(', ') || 'nothing'}`
}

const checksOf = (url: URL): Check[] => [
  { name: 'address', look: async () => url.href },
  { name: 'caller', look: () => callerOf(url) },
  { name: 'API', look: () => remoteHealth(url) },
]

export const doctorCommand = (program: Command, done: (code: ExitCode) => void): void => {
  dataFlag(program.command('doctor'))
    .description('check what reviewloop needs here, or a deployment')
    .option('--remote <url>', 'check a deployment: the address, your AWS credentials, what it reviews')
    .action(async (flags: RemoteFlags) => {
      const checks = flags.remote === undefined ? checksHere(flags) : checksOf(parseRemote(flags.remote))
      const paint = paintFor(process.stdout)
      let wrong = 0
      for (const { name, look, optional } of checks) {
        const line = await signOfLife(name, false, look).then(
          (found) => `${paint('green', 'ok   ')} ${name.padEnd(WIDTH)} ${found}`,
          (error: unknown) => {
            const { message, details } = asLoopError(error)
            if (optional) return `${paint('dim', 'none ')} ${name.padEnd(WIDTH)} ${redact(reasonIn(details) ?? message)}`
            wrong++
            return `${paint('red', 'wrong')} ${name.padEnd(WIDTH)} ${redact(message)}`
          },
        )
        process.stdout.write(`${line}\n`)
      }
      done(wrong === 0 ? EXIT.approved : EXIT.failed)
    })
}
