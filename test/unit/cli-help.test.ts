import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Command } from 'commander'
import { beforeAll, describe, expect, test } from 'vitest'
import { completionScript, SHELLS } from '../../bin/terminal/completion.ts'
import { EXAMPLES, examplesOf } from '../../bin/terminal/examples.ts'

const root = join(import.meta.dirname, '../..')
const program = new Command('reviewloop')
beforeAll(async () => {
  for (const file of readdirSync(join(root, 'bin/commands'))) {
    const module = (await import(join(root, 'bin/commands', file))) as Record<string, unknown>
    for (const [name, add] of Object.entries(module))
      if (name.endsWith('Command') && typeof add === 'function') (add as (to: Command, done: () => void) => void)(program, () => {})
  }
}, 60_000)

/** Words as a shell takes them, without quotes. */
const wordsOf = (typed: string): string[] => [...typed.matchAll(/(?:"[^"]*"|\S)+/g)].map(([word]) => word.replaceAll('"', ''))

describe('the examples of the help', () => {
  test('are there for every command, and for no other', () => {
    expect(Object.keys(EXAMPLES).toSorted()).toEqual(program.commands.map((command) => command.name()).toSorted())
    for (const command of program.commands) expect(examplesOf(command.name())).toContain(`reviewloop ${command.name()}`)
  })

  test('are taken by the commands they show', () => {
    for (const [name, examples] of Object.entries(EXAMPLES)) {
      for (const [typed] of examples) {
        const [, called = ''] = /reviewloop ([^)|]*?)(?:\)"| \||$)/.exec(typed) ?? []
        const [first, ...words] = wordsOf(called)
        expect(first).toBe(name)
        const command = program.commands.find((candidate) => candidate.name() === name)
        const { operands, unknown } = command?.parseOptions(words) ?? { operands: [], unknown: ['?'] }
        expect(unknown, typed).toEqual([])
        expect(operands.length, typed).toBeLessThanOrEqual(command?.registeredArguments.length ?? 0)
      }
    }
  })
})

/** What bash offers for the last word of a line, through the script. */
const completed = async (...words: string[]): Promise<string[]> => {
  const script = `${completionScript(program, 'bash')}
COMP_WORDS=(reviewloop "$@"); COMP_CWORD=$#; _reviewloop
printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout } = await promisify(execFile)('bash', ['-euc', script, 'bash', ...words])
  return stdout.split('\n').filter(Boolean)
}

describe('the completion', () => {
  test('of bash offers the commands, and those that begin so', async () => {
    expect((await completed('')).toSorted()).toEqual(program.commands.map((command) => command.name()).toSorted())
    expect((await completed('s')).toSorted()).toEqual(['serve', 'sessions', 'show', 'start'])
    expect(await completed('--v')).toEqual(['--version'])
  })

  test('of bash offers every flag of every command', async () => {
    for (const command of program.commands) {
      const flags = command.options.flatMap(({ long, short }) => [long, short].filter((flag) => typeof flag === 'string'))
      expect((await completed(command.name(), '-')).toSorted()).toEqual([...flags, '--help'].toSorted())
    }
  })

  test('of bash offers values where only some are allowed, and leaves files to the shell', async () => {
    expect(await completed('list', '--status', 'p')).toEqual(['parked'])
    expect(await completed('completion', '')).toEqual([...SHELLS])
    expect(await completed('run', '--scenario', '')).toEqual([])
    expect(await completed('run', '')).toEqual([])
    expect(await completed('run', '../x', '--yes', '--ba')).toEqual(['--base'])
  })

  test('is registered in bash for the program', async () => {
    const { stdout } = await promisify(execFile)('bash', ['-euc', `${completionScript(program, 'bash')}\ncomplete -p reviewloop`])
    expect(stdout.trim()).toBe('complete -o default -F _reviewloop reviewloop')
  })

  test('of zsh and fish names every command and flag', () => {
    for (const shell of ['zsh', 'fish'] as const) {
      const script = completionScript(program, shell)
      for (const command of program.commands) {
        expect(script).toContain(command.name())
        for (const { long } of command.options) expect(script).toContain(shell === 'fish' ? `-l ${long?.slice(2)}` : `'${long}:`)
      }
      // what is described in words stays in its quotes
      const quotes = shell === 'fish' ? script.replaceAll("\\'", '') : script.replaceAll(`'\\''`, '')
      expect((quotes.match(/'/g)?.length ?? 1) % 2).toBe(0)
    }
  })
})
