/** The command line. Reports go to stdout, everything else to stderr; exit codes stand in terminal/exit.ts. */
import { Command, CommanderError } from 'commander'
import { asLoopError, type LoopError } from '../lib/loop/errors.ts'
import { keepSecrets, printable, redact, secretsOf } from '../lib/loop/redact.ts'
import packageJson from '../package.json' with { type: 'json' }
import { abortCommand } from './commands/abort.ts'
import { cleanCommand } from './commands/clean.ts'
import { completionCommand } from './commands/completion.ts'
import { costCommand } from './commands/cost.ts'
import { decideCommand } from './commands/decide.ts'
import { demoCommand } from './commands/demo.ts'
import { doctorCommand } from './commands/doctor.ts'
import { initCommand } from './commands/init.ts'
import { listCommand } from './commands/list.ts'
import { resumeCommand } from './commands/resume.ts'
import { runCommand } from './commands/run.ts'
import { serveCommand } from './commands/serve.ts'
import { sessionsCommand } from './commands/sessions.ts'
import { showCommand } from './commands/show.ts'
import { startCommand } from './commands/start.ts'
import { asTyped, typedIn } from './terminal/command-name.ts'
import { examplesOf } from './terminal/examples.ts'
import { EXIT, EXIT_HELP, exitCodeOfError, type ExitCode } from './terminal/exit.ts'
import { paintFor } from './terminal/paint.ts'

const EXAMPLES = `
Examples
  reviewloop run                              review HEAD against its base
  reviewloop run ../project --base main --yes review another repository, ask nobody
  reviewloop run --output sarif=out.sarif     the report as SARIF, too
  reviewloop decide --fix all --note "..."    answer the run that waits, and go on with it
  reviewloop resume                           go on after Ctrl-C, kill -9 or a power cut
  reviewloop demo                             see all of it on an example

${EXIT_HELP}`

const makeProgram = (done: (code: ExitCode) => void): Command => {
  const program = new Command('reviewloop')
    .description(packageJson.description)
    .version(packageJson.version)
    .showHelpAfterError(false)
    .addHelpText('after', () => asTyped(EXAMPLES))
    .configureOutput({ writeErr: (text) => process.stderr.write(redact(text)) })
    .exitOverride()
  for (const add of [
    runCommand,
    resumeCommand,
    listCommand,
    showCommand,
    sessionsCommand,
    costCommand,
    decideCommand,
    abortCommand,
    initCommand,
    doctorCommand,
    cleanCommand,
    demoCommand,
    startCommand,
    serveCommand,
    completionCommand,
  ])
    add(program, done)
  for (const command of program.commands) command.addHelpText('after', () => asTyped(examplesOf(command.name())))
  return program
}

/** Where the place of the error knows better than the catalogue, what it says. */
const remedyOf = (error: LoopError): string =>
  typeof error.details['remedy'] === 'string' ? error.details['remedy'] : asTyped(error.entry.remedy)

const fail = (thrown: unknown): ExitCode => {
  if (thrown instanceof CommanderError) {
    if (thrown.exitCode === 0) return EXIT.approved
    if (thrown.code !== 'commander.help') process.stderr.write(asTyped('What to do: look at `reviewloop --help`.\n'))
    return EXIT.usage
  }
  const error = asLoopError(thrown)
  const paint = paintFor(process.stderr)
  process.stderr.write(`${paint('red', `${error.name}:`)} ${printable(redact(error.message))}\nWhat to do: ${remedyOf(error)}\n`)
  if (error.name === 'Unexpected' && process.env['REVIEWLOOP_DEBUG'])
    process.stderr.write(`${redact(String((error.cause as Error | undefined)?.stack))}\n`)
  return exitCodeOfError(error)
}

// a reader that has seen enough (`| head`) is no failure
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})
keepSecrets(secretsOf(process.env))
process.chdir(typedIn())
const args = process.argv.slice(2)
try {
  await makeProgram((code) => {
    process.exitCode = code
  }).parseAsync(args.length === 0 ? ['--help'] : args, { from: 'user' })
} catch (thrown) {
  process.exitCode = fail(thrown)
}
