/** Carries out the steps of the image's Dockerfile that fill the task folder, without docker. */
import { execFile } from 'node:child_process'
import { cp, mkdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'

export interface Built {
  from: string
  cmd: string[]
  /** Commands that touch the system and not the task folder: not carried out. */
  system: string[]
  env: Record<string, string>
}

const TASK_ROOT = '${LAMBDA_TASK_ROOT}'

const copy = async (context: string, root: string, argument: string): Promise<void> => {
  const [to, ...sources] = argument.split(/\s+/).toReversed()
  const into = /^\.\/((?:[a-z]+\/)?)$/.exec(to ?? '')?.[1]
  if (into === undefined) throw new Error(`COPY to ${to}: only ./ and a folder in it are known`)
  for (const source of sources)
    await cp(join(context, source), join(root, into, source.endsWith('/') || into !== '' ? '' : basename(source)), { recursive: true })
}

/** Builds `context` into `root`, with build arguments. Throws at a step that it does not know: a test must not pass over one. */
export const buildWithoutDocker = async (context: string, root: string, args: Record<string, string> = {}): Promise<Built> => {
  await mkdir(root, { recursive: true })
  const built: Built = { from: '', cmd: [], system: [], env: {} }
  const known: Record<string, string> = { LAMBDA_TASK_ROOT: root }
  const valued = (text: string): string => text.replaceAll(/\$\{(\w+)\}/g, (_all, name: string) => known[name] ?? '')
  const lines = (await readFile(join(context, 'Dockerfile'), 'utf8')).split('\n').filter((line) => line.trim() && !line.startsWith('#'))
  for (const line of lines) {
    const [, step = '', argument = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? []
    if (step === 'FROM' && !built.from) built.from = argument
    else if (step === 'WORKDIR' && argument === TASK_ROOT) continue
    else if (step === 'COPY') await copy(context, root, argument)
    else if (step === 'ARG' || step === 'ENV') {
      const [, name = '', value = ''] = /^(\w+)="?([^"]*)"?$/.exec(argument) ?? []
      known[name] = step === 'ARG' ? (args[name] ?? value) : valued(value)
      if (step === 'ENV') built.env[name] = known[name]
    } else if (step === 'CMD') built.cmd = JSON.parse(argument) as string[]
    else if (step === 'RUN') {
      for (const command of argument.split('&&').map((part) => part.trim())) {
        const [program = '', ...words] = valued(command).trim().split(/ +/)
        if (program === 'npm') await promisify(execFile)('npm', [...words, '--prefer-offline'], { cwd: root })
        else if (program === 'sh') await promisify(execFile)('sh', words, { cwd: root })
        else if (program === 'dnf' || (program === 'rm' && words.at(-1)?.startsWith('/root/'))) built.system.push(command)
        else throw new Error(`RUN ${command}: not known`)
      }
    } else throw new Error(`${line}: not known`)
  }
  return built
}
