import { expect, test } from 'vitest'
import { runGit } from '../../lib/workspace/git.ts'
import { lambda } from '../../lib/runtime/lambda.ts'

test('what is stopped because the time of the function is over has timed out and is tried again: nobody interrupted it', async () => {
  const aborted = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
  const handler = lambda(async (_event, { signal }) => {
    await aborted(signal)
    return runGit(['version'], { signal })
  })
  await expect(handler({}, { getRemainingTimeInMillis: () => 40 })).rejects.toMatchObject({
    name: 'GitTimedOut',
    entry: { class: 'transient' },
  })
})
