/** The command line as a user calls it: through the launcher, in a process of its own, on a data folder of its own. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const LAUNCHER = fileURLToPath(new URL('../../bin/node.mjs', import.meta.url))

export interface Called {
  /** null where a signal ended it. */
  code: number | null
  stdout: string
  stderr: string
}

export interface Running {
  child: ChildProcess
  /** Resolves once stderr holds the text; rejects where the process ends before. */
  says(text: string): Promise<void>
  ended: Promise<Called>
}

export interface Cli {
  /** A folder that is removed with it; the data folder is `data` in it. */
  scratch: string
  data: string
  cwd: string
  run(...args: string[]): Promise<Called>
  start(args: string[], options?: { nodeArgs?: string[] }): Running
  /** Writes a scenario of the scripted agent and gives its path. */
  scenario(turns: Record<number, unknown>, more?: object): Promise<string>
  close(): Promise<void>
}

/** `env`: variables beside those that every call has. */
export const makeCli = async (cwd?: string, env: Readonly<Record<string, string>> = {}): Promise<Cli> => {
  const scratch = await realpath(await mkdtemp(join(tmpdir(), 'reviewloop-cli-')))
  const data = join(scratch, 'data')
  const living = new Set<ChildProcess>()
  const start: Cli['start'] = (args, { nodeArgs = [] } = {}) => {
    const child = spawn(process.execPath, [...nodeArgs, LAUNCHER, ...args], {
      cwd: cwd ?? scratch,
      env: { PATH: process.env['PATH'], HOME: scratch, TMPDIR: tmpdir(), REVIEWLOOP_DATA: data, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    living.add(child)
    const text = { stdout: '', stderr: '' }
    child.stdout.on('data', (chunk) => (text.stdout += String(chunk)))
    child.stderr.on('data', (chunk) => (text.stderr += String(chunk)))
    const ended = once(child, 'close').then(([code]): Called => {
      living.delete(child)
      return { code: code as number | null, ...text }
    })
    const says = (wanted: string) =>
      new Promise<void>((resolve, reject) => {
        const look = () => (text.stderr.includes(wanted) ? resolve() : undefined)
        child.stderr.on('data', look)
        look()
        void ended.then(() => reject(new Error(`it ended without saying ${wanted}: ${text.stderr}`)))
      })
    return { child, says, ended }
  }
  return {
    scratch,
    data,
    cwd: cwd ?? scratch,
    start,
    run: (...args) => start(args).ended,
    scenario: async (turns, more = {}) => {
      const path = join(scratch, `scenario-${Math.random().toString(36).slice(2)}.yaml`)
      await writeFile(path, JSON.stringify({ turns, ...more }))
      return path
    },
    close: async () => {
      for (const child of living) child.kill('SIGKILL')
      await rm(scratch, { recursive: true, force: true })
    },
  }
}

/** A scenario of two rounds: what the fixer does first is not enough, then it is. The change has `a.txt` with `bad` in line 2. */
export const twoRounds = (more: Record<number, object> = {}): Record<number, unknown> => {
  const steps: Record<number, object> = {
    1: { role: 'reviewer', findings: [{ rule: 'no-bad', severity: 'error', action: 'auto-fix', file: 'a.txt', line: 2, text: 'bad' }] },
    2: { role: 'fixer', edits: [{ replace: 'a.txt', before: 'bad', after: 'worse' }] },
    3: {
      role: 'reviewer',
      accounts: { fixed: 'all' },
      findings: [{ rule: 'no-worse', severity: 'error', action: 'auto-fix', file: 'a.txt', line: 2, text: 'worse' }],
    },
    4: { role: 'fixer', edits: [{ replace: 'a.txt', before: 'worse', after: 'good' }] },
    5: { role: 'reviewer', accounts: { fixed: 'all' } },
    6: { role: 'certifier' },
  }
  return Object.fromEntries(Object.entries(steps).map(([turn, step]) => [turn, { ...step, ...more[Number(turn)] }]))
}

/** A scenario that parks: one finding that a person has to decide on. After an answer that fixes it, it is gone. */
export const asksOnce = (): Record<number, unknown> => ({
  1: {
    role: 'reviewer',
    findings: [{ rule: 'unsure', severity: 'warning', action: 'ask-user', file: 'a.txt', line: 2, text: 'is this meant?' }],
  },
  2: { role: 'fixer', edits: [{ replace: 'a.txt', before: 'bad', after: 'meant' }] },
  3: { role: 'reviewer', accounts: { fixed: 'all' } },
  4: { role: 'certifier' },
})
