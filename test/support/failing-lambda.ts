/** A function of the deployed stack that fails with all the secrets it knows; what Lambda would pass on of that goes to stdout. */
import { LoopError } from '../../lib/loop/errors.ts'
import { makeEffects } from '../../lib/runtime/effects.ts'
import { lambda } from '../../lib/runtime/lambda.ts'

const secrets = [...Object.values(process.env)].join(' | ')
const handler = lambda((_event, { progress }) => {
  progress(`working with ${secrets}`)
  makeEffects().log('warn', `have ${secrets}`, {
    env: { ...process.env },
    token: 'tweety',
    cut: '-----BEGIN PRIVATE KEY-----',
    cause: new Error(secrets),
  })
  throw new LoopError('FetchFailed', `could not fetch with ${secrets}`, { env: { ...process.env } }, { cause: new Error(secrets) })
})

try {
  await handler({ runId: 'r-0123456789abcdef' }, { getRemainingTimeInMillis: () => 60_000 })
} catch (thrown) {
  const error = thrown as Error
  // As the runtime does: the name, the message, every property of the error's own, and the stack.
  const { name, message, stack } = error
  process.stdout.write(
    `${JSON.stringify({ errorType: name, errorMessage: message, trace: stack?.split('\n'), ...error, cause: String(error.cause) })}\n`,
  )
}
