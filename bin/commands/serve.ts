import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { dataFolderPath } from '../../lib/local/data-path.ts'
import type { EngineEvent } from '../../lib/local/engine-events.ts'
import { serve } from '../../lib/local/serve.ts'
import { type Deployment, deployment } from '../../lib/loop/deployment.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import { firstIssue } from '../../lib/loop/issue.ts'
import { oneLine } from '../../lib/loop/redact.ts'
import { FUNCTION_FOLDERS } from '../../lib/names.ts'
import { asTyped } from '../terminal/command-name.ts'
import { EXIT, type ExitCode } from '../terminal/exit.ts'
import { duration } from '../terminal/paint.ts'
import { person } from '../terminal/person.ts'
import { dataFlag } from './flags.ts'
import { readRepository } from './read-repository.ts'
import { scenarioOf } from './resume.ts'

interface ServeFlags {
  data?: string
  port: string
  deployment?: string
  agent?: string[]
  scenario?: string
  quiet?: boolean
}

/** Errors: BadRequest. */
const portOf = (text: string): number => {
  const port = Number(text)
  if (text.trim() === '' || !Number.isInteger(port) || port < 0 || port > 65_535)
    throw new LoopError('BadRequest', `--port takes a number from 0 to 65535, not ${JSON.stringify(text)}.`)
  return port
}

/** The facts in a file, as the functions of a deployment have them. Errors: BadRequest. */
const readFacts = async (file: string): Promise<Deployment> => {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new LoopError('BadRequest', `${file} cannot be read.`, { file }, { cause })
  })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new LoopError('BadRequest', `${file} is not JSON.`, { file })
  }
  const parsed = deployment.safeParse(value)
  if (!parsed.success) throw new LoopError('BadRequest', `${file} is not valid: ${firstIssue(parsed.error)}.`, { file })
  return parsed.data
}

/** Without a file: the repository that the command was typed in, against the branch that its own would go to. */
const factsOfHere = async (): Promise<Deployment> => {
  const { root, base } = await readRepository(process.cwd(), {}).catch((cause: unknown) => {
    const remedy = asTyped('Run it inside a repository, or name a file: `reviewloop serve --deployment FILE`.')
    throw new LoopError('BadRequest', 'Nothing says which repositories may be reviewed.', { remedy }, { cause })
  })
  return deployment.parse({ repositories: [{ url: root, defaultBranch: base.name.replace(/^origin\//, '') }] })
}

const say = (line: string): void => void process.stderr.write(`${line}\n`)

const lineOf = (event: EngineEvent): string | null => {
  if (event.kind === 'left' && event.state in FUNCTION_FOLDERS) return `${event.execution}  ${event.state}  ${duration(event.milliseconds)}`
  if (event.kind === 'failed') return `${event.execution}  ${event.state} failed: ${event.error}: ${oneLine(event.cause, 200)}`
  return null
}

/** Ends on the first signal, in order; on a second, at once. */
const untilSignal = async (): Promise<void> => {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
  await Promise.race(signals.map((signal) => once(process, signal)))
  say('Ending: letting go of what runs. Once more to end at once.')
  for (const signal of signals) process.on(signal, () => process.exit(EXIT.interrupted))
}

export const serveCommand = (program: Command, done: (code: ExitCode) => void): void => {
  dataFlag(program.command('serve'))
    .description('serve the HTTP API on this machine, over the embedded engine')
    .option('--port <n>', 'port on 127.0.0.1; 0: any that is free', '7477')
    .option('--deployment <file>', 'which repositories may be reviewed, and how (default: the one around this folder)')
    .option('--agent <name...>', 'agents to try, in this order (default: lint)')
    .option('--scenario <file>', 'scenario of the scripted agent')
    .option('-q, --quiet', 'no progress on stderr')
    .action(async (flags: ServeFlags) => {
      const { quiet = false } = flags
      const scenario = scenarioOf(flags)
      const service = await serve({
        data: dataFolderPath(flags.data),
        port: portOf(flags.port),
        deployment: flags.deployment === undefined ? await factsOfHere() : await readFacts(resolve(flags.deployment)),
        user: person(),
        scenario,
        agents: flags.agent ?? (scenario === undefined ? undefined : ['scripted']),
        onEvent: (event) => {
          const line = quiet ? null : lineOf(event)
          if (line) say(line)
        },
        onLog: (level, message) => say(`${level}: ${message}`),
      })
      const ended = untilSignal()
      process.stdout.write(`Listening on ${service.url}\nToken: ${service.token}\n`)
      for (const runId of service.resumed) say(`Run ${runId} goes on.`)
      await ended
      await service.close()
      done(EXIT.approved)
    })
}
