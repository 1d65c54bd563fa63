/** The wrapper of every Lambda entry: deadline, abort signal, log, and errors under their names of the catalogue. */
import { asLoopError } from '../loop/errors.ts'
import type { Invocation } from '../loop/ports.ts'
import { keepSecrets, redact, redactError, secretsOf } from '../loop/redact.ts'
import { logger } from './effects.ts'
import { sayError } from './metrics.ts'

/** The part of Lambda's context that is read. */
interface LambdaContext {
  getRemainingTimeInMillis(): number
}

/** Time kept back for giving a lease back, and for the answer. */
const MARGIN_MS = 15_000

// Whatever this function was given to prove who it is, no text of it shows.
keepSecrets(secretsOf(process.env))

/** Whose run it is, for the log: by the state, the path, what Publish is to tell of, the execution that was lost. */
const runIdIn = (event: unknown): string | undefined => {
  const holder = event && typeof event === 'object' ? (event as Record<string, unknown>) : {}
  const state = (holder['state'] ?? holder) as Record<string, unknown>
  const parameters = (holder['pathParameters'] ?? {}) as Record<string, unknown>
  const execution = ((holder['detail'] ?? {}) as Record<string, unknown>)['name']
  const lost = typeof execution === 'string' ? /^r-[0-9a-f]{16}/.exec(execution)?.[0] : undefined
  const id = state['runId'] ?? parameters['id'] ?? holder['tell'] ?? lost
  return typeof id === 'string' ? id.slice(0, 100) : undefined
}

/** `work` is made by the function's handler.ts. What it throws is thrown on: Step Functions matches Retry and Catch on its name. */
export const lambda =
  (work: (event: unknown, invocation: Invocation) => Promise<unknown>) =>
  async (event: unknown, context: LambdaContext): Promise<unknown> => {
    const remaining = context.getRemainingTimeInMillis()
    const left = Math.max(0, remaining - Math.min(MARGIN_MS, remaining / 4))
    const stop = new AbortController()
    // Its time is over, and nobody interrupted it: what is stopped is tried again.
    const timer = setTimeout(() => stop.abort(new DOMException('the time of the function is over', 'TimeoutError')), left)
    logger.resetKeys()
    const runId = runIdIn(event)
    logger.appendKeys({ runId })
    try {
      return await work(event, {
        deadline: Date.now() + left,
        signal: stop.signal,
        progress: (message) => logger.info(redact(message)),
      })
    } catch (thrown) {
      const error = redactError(asLoopError(thrown))
      logger[error.entry.class === 'stale' ? 'info' : 'error'](`${error.name}: ${error.message}`, {
        error: error.name,
        class: error.entry.class,
      })
      sayError(error.name, runId)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
