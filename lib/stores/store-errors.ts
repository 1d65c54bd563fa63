import { LoopError } from '../loop/errors.ts'

const RETRIED = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'Throttling',
  'RequestLimitExceeded',
  'LimitExceededException',
  'ExecutionLimitExceeded',
  'TransactionConflictException',
  'SlowDown',
  'TimeoutError',
  'RequestTimeout',
  'AbortError',
])
const NETWORK = /^(E(CONN|HOST|NET|TIMEDOUT|PIPE|AI_AGAIN|NOTFOUND)|ENOENT$)/

const fact = (error: unknown, key: string): unknown => (typeof error === 'object' && error !== null ? Reflect.get(error, key) : undefined)

/** Answers of a store that say nothing about the request: throttled, a fault of the service, no answer at all. */
const isUnavailable = (error: unknown): boolean => {
  if (RETRIED.has(String(fact(error, 'name'))) || fact(error, '$fault') === 'server') return true
  const status = fact(fact(error, '$metadata'), 'httpStatusCode')
  const code = fact(error, 'code')
  return (typeof status === 'number' && status >= 500) || (typeof code === 'string' && NETWORK.test(code))
}

/** Calls a store; what it throws becomes StoreUnavailable, or Unexpected with the store and the operation named. */
export const callStore = async <T>(what: string, call: () => Promise<T>): Promise<T> => {
  try {
    return await call()
  } catch (cause) {
    if (cause instanceof LoopError) throw cause
    const reason = String(fact(cause, 'name') ?? cause)
    if (isUnavailable(cause)) throw new LoopError('StoreUnavailable', `${what}: the store did not answer (${reason}).`, {}, { cause })
    throw new LoopError('Unexpected', `${what}: ${reason}: ${cause instanceof Error ? cause.message : ''}`, {}, { cause })
  }
}
