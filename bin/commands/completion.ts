import { Argument, type Command } from 'commander'
import { completionScript, type Shell, SHELLS } from '../terminal/completion.ts'
import { EXIT, type ExitCode } from '../terminal/exit.ts'

export const completionCommand = (program: Command, done: (code: ExitCode) => void): void => {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell to complete in').choices(SHELLS))
    .description('print a script that completes commands and flags in a shell')
    .action((shell: Shell) => {
      process.stdout.write(completionScript(program, shell))
      done(EXIT.approved)
    })
}
