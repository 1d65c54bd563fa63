/** A command-line tool that ends when this process does, however that ends: a tool that is left alone goes on with its call of a model. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as wait } from 'node:timers/promises'

export interface TiedCommand {
  command: string
  args: string[]
  cwd?: string
  env: Readonly<Record<string, string | undefined>>
  signal?: AbortSignal
}

export type TiedProcess = ChildProcess & { stdin: Writable; stdout: Readable; stderr: Readable }

/**
 * Beside the tool a shell reads from a pipe that this process holds. A line says that the tool has ended; an end without one, that this
 * process has, and the tool is killed with all that it started. It holds none of the tool's own pipes: who reads them would wait for it.
 */
const TIED = '{ read -r line <&3 || kill -9 -$$; } </dev/null >/dev/null 2>&1 & exec "$@" 3<&-'

/** What is left in the pipes of a tool that has ended is read by then; a process in a group of its own may hold them for ever. */
const READ_MS = 1000

/** For systems with a POSIX shell. The tool is in a process group of its own. `said` is told what it writes to its standard error. */
export const spawnTied = ({ command, args, cwd, env, signal }: TiedCommand, said: (text: string) => void): TiedProcess => {
  const child = spawn('sh', ['-c', TIED, 'sh', command, ...args], {
    cwd,
    env: { ...env },
    ...(signal ? { signal } : {}),
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
  })
  const { stdin, stdout, stderr, stdio } = child
  if (!stdin || !stdout || !stderr) throw new Error(`${command} was started without its pipes`)
  const tie = stdio[3] as Writable
  tie.on('error', () => undefined)
  child.once('exit', () => {
    tie.end('\n')
    setTimeout(() => [stdout, stderr].forEach((pipe) => pipe.destroy()), READ_MS).unref()
  })
  stderr.on('data', (chunk: Buffer) => said(chunk.toString()))
  return Object.assign(child, { stdin, stdout, stderr })
}

/** To the tool and all that it started. */
export const signalTied = ({ pid }: Pick<ChildProcess, 'pid'>, signal: NodeJS.Signals): void => {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // The group is empty.
  }
}

/** Resolves when the tool has ended and nothing that it started is left. It is let end by itself for `ms`. */
export const endTied = async (child: ChildProcess, ms = 0): Promise<void> => {
  if (child.pid === undefined) return
  const isOver = child.exitCode !== null || child.signalCode !== null
  const gone = isOver ? Promise.resolve() : new Promise<void>((resolve) => child.once('exit', () => resolve()))
  if (ms > 0) await Promise.race([gone, wait(ms, undefined, { ref: false })])
  signalTied(child, 'SIGKILL')
  await gone
}
