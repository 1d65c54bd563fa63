/** A command-line tool that ends when this process does, however that ends: a tool that is left alone goes on with its call of a model. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'

export interface TiedCommand {
  command: string
  args: string[]
  cwd?: string
  env: Readonly<Record<string, string | undefined>>
  signal: AbortSignal
}

export type TiedProcess = ChildProcess & { stdin: Writable; stdout: Readable; stderr: Readable }

/**
 * Beside the tool a shell reads from a pipe that this process holds. A line says that the tool has ended; an end without one, that this
 * process has, and the tool is killed. It holds none of the tool's own pipes: who reads them would wait for it.
 */
const TIED = '{ read -r line <&3 || kill -9 $$; } </dev/null >/dev/null 2>&1 & exec "$@" 3<&-'

/** For systems with a POSIX shell. `said` is told what the tool writes to its standard error. */
export const spawnTied = ({ command, args, cwd, env, signal }: TiedCommand, said: (text: string) => void): TiedProcess => {
  const child = spawn('sh', ['-c', TIED, 'sh', command, ...args], { cwd, env: { ...env }, signal, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] })
  const { stdin, stdout, stderr, stdio } = child
  if (!stdin || !stdout || !stderr) throw new Error(`${command} was started without its pipes`)
  const tie = stdio[3] as Writable
  tie.on('error', () => undefined)
  child.once('exit', () => tie.end('\n'))
  stderr.on('data', (chunk: Buffer) => said(chunk.toString()))
  return Object.assign(child, { stdin, stdout, stderr })
}
