/** The wrapper of every Lambda entry: deadline, abort signal, log, and errors under their names of the catalogue. */
import { asLoopError } from '../loop/errors.ts'
import type { Invocation } from '../loop/ports.ts'
import { keepSecrets, redact, redactError, secretsOf } from '../loop/redact.ts'
import { logger } from './effects.ts'

/** The part of Lambda's context that is read. */
interface LambdaContext {
  getRemainingTimeInMillis(): number
}

/** Time kept back for giving a lease back, and for the answer. */
const MARGIN_MS = 15_000

// Whatever this function was given to prove who it is, no text of it shows.
keepSecrets(secretsOf(process.env))

const runIdIn = (event: unknown): string | undefined => {
  const holder = event && typeof event === 'object' ? (event as Record<string, unknown>) : {}
  const state = (holder['state'] ?? holder) as Record<string, unknown>
  const parameters = (holder['pathParameters'] ?? {}) as Record<string, unknown>
  const id = state['runId'] ?? parameters['id']
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
    logger.appendKeys({ runId: runIdIn(event) })
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
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
