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
}

const TASK_ROOT = '${LAMBDA_TASK_ROOT}'

const copy = async (context: string, root: string, argument: string): Promise<void> => {
  const [to, ...sources] = argument.split(/\s+/).toReversed()
  if (to !== './') throw new Error(`COPY to ${to}: only ./ is known`)
  for (const source of sources)
    await cp(join(context, source), source.endsWith('/') ? root : join(root, basename(source)), { recursive: true })
}

/** Builds `context` into `root`. Throws at a step that it does not know: a test must not pass over one. */
export const buildWithoutDocker = async (context: string, root: string): Promise<Built> => {
  await mkdir(root, { recursive: true })
  const built: Built = { from: '', cmd: [], system: [] }
  const lines = (await readFile(join(context, 'Dockerfile'), 'utf8')).split('\n').filter((line) => line.trim() && !line.startsWith('#'))
  for (const line of lines) {
    const [, step = '', argument = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? []
    if (step === 'FROM' && !built.from) built.from = argument
    else if (step === 'WORKDIR' && argument === TASK_ROOT) continue
    else if (step === 'COPY') await copy(context, root, argument)
    else if (step === 'CMD') built.cmd = JSON.parse(argument) as string[]
    else if (step === 'RUN') {
      for (const command of argument.split('&&').map((part) => part.trim())) {
        const [program = '', ...args] = command.split(' ')
        if (program === 'npm') await promisify(execFile)('npm', [...args, '--prefer-offline'], { cwd: root })
        else if (program === 'dnf' || (program === 'rm' && args.at(-1)?.startsWith('/root/'))) built.system.push(command)
        else throw new Error(`RUN ${command}: not known`)
      }
    } else throw new Error(`${line}: not known`)
  }
  return built
}
