/** The linters behind a worker thread that has a limit on memory and can be killed in the middle of a file. */
import { Worker } from 'node:worker_threads'
import type { Kind } from './kinds.ts'
import type { RawFinding } from './rule.ts'
import type { LintReply, LintRequest } from './worker.ts'

export type Linted = { findings: RawFinding[] } | { skip: string }

export interface LinterLimits {
  /** Old-generation heap of the worker, in MB. */
  memoryMb: number
  /** Longest time for one file, in ms. */
  fileMs: number
}

/** Thrown by `lint` when the turn is over: the worker is gone. */
export class Stopped extends Error {
  readonly why: 'cancelled' | 'deadline'

  constructor(why: 'cancelled' | 'deadline') {
    super(why)
    this.why = why
  }
}

/** A bundle has the worker beside it under this name; the checkout runs the source. */
const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './lint-worker.mjs', import.meta.url)

/** A worker that ended its work in health serves the next turn as well: loading the linters is most of what a small turn costs. */
let spare: { worker: Worker; memoryMb: number } | null = null

const startWorker = (memoryMb: number): Worker => {
  const worker = new Worker(ENTRY, {
    env: {},
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    stdout: true,
    stderr: true,
  })
  worker.unref()
  // heard by whoever waits for a reply; one that dies between two files is found to have ended
  worker.on('error', () => undefined)
  worker.once('exit', () => {
    if (spare?.worker === worker) spare = null
  })
  return worker
}

/** Node gives a thread that has ended this number. */
const hasEnded = (worker: Worker): boolean => worker.threadId === -1

const takeWorker = (memoryMb: number): Worker => {
  const kept = spare?.memoryMb === memoryMb ? spare.worker : null
  if (kept) spare = null
  return kept ?? startWorker(memoryMb)
}

const keepWorker = (worker: Worker, memoryMb: number): void => {
  if (spare) return void worker.terminate()
  spare = { worker, memoryMb }
}

/** Numbers the requests of the process, so that no reply is taken for another turn's. */
let requests = 0

type Ended = LintReply | { died: string } | { late: true } | { aborted: true }

/** Waits for the one reply, the worker's death, the time limit or the abort, whichever is first. */
const replyOf = async (worker: Worker, id: number, ms: number, signal: AbortSignal): Promise<Ended> => {
  const listening = new AbortController()
  try {
    return await new Promise<Ended>((resolve) => {
      const timer = setTimeout(() => resolve({ late: true }), Math.max(0, ms))
      listening.signal.addEventListener('abort', () => clearTimeout(timer))
      const onMessage = (reply: LintReply): void => {
        if (reply.id === id) resolve(reply)
      }
      const onError = (error: Error & { code?: string }): void =>
        resolve({ died: error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'it needed too much memory' : 'the linter broke down' })
      const onExit = (): void => resolve({ died: 'the linter ended' })
      const onAbort = (): void => resolve({ aborted: true })
      worker.on('message', onMessage).on('error', onError).on('exit', onExit)
      signal.addEventListener('abort', onAbort)
      listening.signal.addEventListener('abort', () => {
        worker.off('message', onMessage).off('error', onError).off('exit', onExit)
        signal.removeEventListener('abort', onAbort)
      })
    })
  } finally {
    listening.abort()
  }
}

export class Linters {
  readonly #limits: LinterLimits
  readonly #deadline: number
  readonly #signal: AbortSignal
  #worker: Worker | null = null

  constructor(limits: LinterLimits, deadline: number, signal: AbortSignal) {
    this.#limits = limits
    this.#deadline = deadline
    this.#signal = signal
  }

  /**
   * Findings of one file; `skip` says why it was given up. A worker that died is tried once more, new, since what filled its memory
   * may have been the files before. Throws `Stopped` when the turn was cancelled or its time is over.
   */
  async lint(kind: Kind, text: string): Promise<Linted> {
    const first = await this.#attempt(kind, text)
    if (!('died' in first)) return first
    const second = await this.#attempt(kind, text)
    return 'died' in second ? { skip: `could not be checked: ${second.died}` } : second
  }

  /** Ends the turn's work. A worker in the middle of a file has been killed before. */
  close(): void {
    if (this.#worker) keepWorker(this.#worker, this.#limits.memoryMb)
    this.#worker = null
  }

  async #kill(): Promise<void> {
    const worker = this.#worker
    this.#worker = null
    await worker?.terminate()
  }

  async #attempt(kind: Kind, text: string): Promise<Linted | { died: string }> {
    if (this.#signal.aborted) throw new Stopped('cancelled')
    const left = this.#deadline - Date.now()
    if (left <= 0) throw new Stopped('deadline')
    if (!this.#worker || hasEnded(this.#worker)) this.#worker = takeWorker(this.#limits.memoryMb)
    const id = ++requests
    const reply = replyOf(this.#worker, id, Math.min(this.#limits.fileMs, left), this.#signal)
    this.#worker.postMessage({ id, kind, text } satisfies LintRequest, [])
    const ended = await reply
    if ('findings' in ended) return { findings: ended.findings }
    // after a failure the state of WebAssembly is anyone's guess
    await this.#kill()
    if ('aborted' in ended) throw new Stopped('cancelled')
    if ('failed' in ended) return { skip: `could not be checked: ${ended.failed}` }
    if ('died' in ended) return ended
    if (this.#limits.fileMs >= left) throw new Stopped('deadline')
    return { skip: `could not be checked within ${Math.ceil(this.#limits.fileMs / 1000)} s` }
  }
}
