/** Announcements of the deployed functions: an asynchronous call of Publish, the one function that may speak to a forge. */
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda'
import type { Effects, Ports } from '../loop/ports.ts'
import { ENV } from '../names.ts'

/** Nobody waits for it longer than this, ms. */
const MOST_MS = 5000

/** Announces nothing where no forge of the deployment can be told anything. */
export const makeAnnounce = (effects: Pick<Effects, 'log'>): Ports['announce'] => {
  const name = process.env[ENV.publishFunction]
  if (!name) return async () => undefined
  const client = new LambdaClient()
  return async (runId, hint) => {
    try {
      const command = new InvokeCommand({
        FunctionName: name,
        InvocationType: 'Event',
        Payload: new TextEncoder().encode(JSON.stringify({ tell: runId, ...hint })),
      })
      await client.send(command, { abortSignal: AbortSignal.timeout(MOST_MS) })
    } catch (thrown) {
      effects.log('warn', 'the forge is not told: Publish could not be called', { runId, error: String(thrown) })
    }
  }
}
