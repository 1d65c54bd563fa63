/** Runs git: by argument list, never a shell, in a process group of its own that ends at a deadline. */
import { spawn } from 'node:child_process'
import { LoopError } from '../loop/errors.ts'
import { redact } from './address.ts'
import { gitEnvironment } from './git-environment.ts'
import { watchMemory } from './memory-watch.ts'

/** Until when git may run (ms since 1970), and what stops it before. */
export interface GitBounds {
  deadline?: number
  signal?: AbortSignal
}

/** The bounds alone, for a command on another repository. */
export const boundsOf = ({ deadline, signal }: GitBounds): GitBounds => ({
  ...(deadline === undefined ? {} : { deadline }),
  ...(signal === undefined ? {} : { signal }),
})

export interface GitOptions extends GitBounds {
  cwd?: string
  /** Further configuration; may hold a secret, because it goes by the environment. */
  config?: Record<string, string>
  env?: Record<string, string>
  input?: string | Uint8Array
  /** Bytes of stdout that are read at most (default 64 MB), and the message of the `ChangeTooLarge` past them. */
  maxBytes?: number
  tooLarge?: string
  /** Takes stdout as it comes; it is then neither kept nor bounded. */
  onStdout?: (chunk: Buffer) => void
  /** Bytes of memory that git and its helpers may take together; default 1.5 GB, which every function that has git can spare. */
  memory?: number
  /** Texts that no error may show. */
  secrets?: readonly string[]
}

export interface GitResult {
  code: number
  stdout: Buffer
  /** The last 64 KB, without secrets. */
  stderr: string
}

const MAX_BYTES = 64 * 1024 * 1024
const MEMORY = 1536 * 1024 * 1024
/** What git says when it is refused memory, by its own limit on one allocation or by the system. */
const NO_MEMORY = /attempting to allocate \d+ over limit|out of memory/i
const STDERR_BYTES = 64 * 1024
const LONGEST_MS = 10 * 60 * 1000
/** What git is given after a SIGTERM to take its lock files away. */
const GRACE_MS = 2000

const stoppedBy = (signal: AbortSignal): LoopError => {
  const reason: unknown = signal.reason
  if (reason instanceof LoopError) return reason
  const timedOut = reason instanceof Error && reason.name === 'TimeoutError'
  return new LoopError(timedOut ? 'GitTimedOut' : 'Interrupted', timedOut ? 'git was stopped: the time is over' : 'git was interrupted')
}

/**
 * Runs git and gives what it answered, whatever its exit code.
 * Errors: GitTimedOut, Interrupted, ChangeTooLarge (more output or memory than allowed), GitFailed (git cannot be started).
 */
export const runGit = (args: readonly string[], options: GitOptions = {}): Promise<GitResult> =>
  new Promise((resolve, reject) => {
    const { signal, secrets = [], maxBytes = MAX_BYTES } = options
    const name = `git ${args.find((arg) => /^[a-z]/.test(arg)) ?? ''}`.trim()
    if (signal?.aborted) return reject(stoppedBy(signal))
    const left = (options.deadline ?? Date.now() + LONGEST_MS) - Date.now()
    if (left <= 0) return reject(new LoopError('GitTimedOut', `${name} was not started: the time is over`))

    const child = spawn('git', args, {
      cwd: options.cwd ?? '/',
      env: gitEnvironment(options.config, options.env),
      detached: true,
      stdio: 'pipe',
    })
    const stdout: Buffer[] = []
    let bytes = 0
    let stderr = ''
    let failure: Error | null = null
    let killing: NodeJS.Timeout | null = null

    const kill = (how: NodeJS.Signals): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, how)
      } catch {
        // The group is gone already.
      }
    }
    const stop = (error: Error): void => {
      if (failure) return
      failure = error
      kill('SIGTERM')
      killing = setTimeout(() => kill('SIGKILL'), GRACE_MS)
    }
    const onAbort = (): void => stop(stoppedBy(signal!))
    const { memory = MEMORY } = options
    const tooMuch = new LoopError('ChangeTooLarge', `${name} needs more than ${Math.floor(memory / 1024 / 1024)} MB of memory`)
    const endWatch = child.pid === undefined ? () => undefined : watchMemory(child.pid, memory, () => stop(tooMuch))
    const timer = setTimeout(() => stop(new LoopError('GitTimedOut', `${name} did not end in time and was stopped`)), left)
    signal?.addEventListener('abort', onAbort, { once: true })

    child.stdout.on('data', (chunk: Buffer) => {
      if (failure) return
      if (options.onStdout) {
        try {
          return options.onStdout(chunk)
        } catch (error) {
          return stop(error instanceof Error ? error : new Error(String(error)))
        }
      }
      bytes += chunk.length
      if (bytes > maxBytes) return stop(new LoopError('ChangeTooLarge', options.tooLarge ?? `${name} gave more than ${maxBytes} bytes`))
      stdout.push(chunk)
    })
    child.stderr.on('data', (chunk: Buffer) => {
      stderr = (stderr + chunk.toString('utf8')).slice(-STDERR_BYTES)
    })
    // git may end without having read all of its input: its exit code says what that meant.
    child.stdin.on('error', () => undefined)
    child.stdin.end(options.input ?? '')

    const settle = (end: () => void): void => {
      clearTimeout(timer)
      endWatch()
      if (killing) clearTimeout(killing)
      signal?.removeEventListener('abort', onAbort)
      end()
    }
    child.on('error', (error: NodeJS.ErrnoException) => {
      const why =
        error.code === 'ENOENT' ? 'git is not installed, or its folder is gone' : `git could not be started (${error.code ?? '?'})`
      settle(() => reject(failure ?? new LoopError('GitFailed', why)))
    })
    // Helpers that outlive git would hold its pipes open and write on into a folder that is about to be removed.
    child.on('exit', () => kill('SIGKILL'))
    child.on('close', (code) => {
      if (code !== 0 && NO_MEMORY.test(stderr)) failure ??= tooMuch
      settle(() =>
        failure ? reject(failure) : resolve({ code: code ?? -1, stdout: Buffer.concat(stdout), stderr: redact(stderr, secrets) }),
      )
    })
  })

/** The first lines of what git complained about, for people. */
export const complaint = (stderr: string): string =>
  stderr
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('hint:'))
    .slice(0, 4)
    .join('; ')
    .slice(0, 600)

/** Runs git and gives its stdout. Errors: as `runGit`, and GitFailed with git's complaint for every exit code but 0. */
export const git = async (args: readonly string[], options: GitOptions = {}): Promise<Buffer> => {
  const result = await runGit(args, options)
  if (result.code === 0) return result.stdout
  const name = args.find((arg) => /^[a-z]/.test(arg)) ?? ''
  throw new LoopError('GitFailed', `git ${name} ended with ${result.code}: ${complaint(result.stderr)}`, { code: result.code })
}

/** The same as text, without the last line end. */
export const gitText = async (args: readonly string[], options: GitOptions = {}): Promise<string> =>
  (await git(args, options)).toString('utf8').replace(/\n$/, '')
