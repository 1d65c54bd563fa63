/** Notices of the deployed functions: a message to the deployment's topic, to which people subscribe. */
import { PublishCommand, SNSClient } from '@aws-sdk/client-sns'
import type { Deployment } from '../loop/deployment.ts'
import { isWanted } from '../loop/notice.ts'
import type { Effects, Ports } from '../loop/ports.ts'
import { ENV } from '../names.ts'
import { requireEnv } from './environment.ts'

/** Nobody waits for it longer than this, ms. */
const MOST_MS = 5000

/** The topic takes printable ASCII as a subject. */
const ascii = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\x20-\x7e]/gu, '?')

export const makeNotify = (effects: Pick<Effects, 'log'>, deployment: Deployment, client: SNSClient = new SNSClient()): Ports['notify'] => {
  const TopicArn = requireEnv(ENV.topic)
  return async (notice) => {
    if (!isWanted(deployment, notice)) return
    const { kind, repository, runId, subject, text } = notice
    const attribute = (StringValue: string) => ({ DataType: 'String', StringValue })
    try {
      const command = new PublishCommand({
        TopicArn,
        Subject: ascii(subject).trim(),
        Message: text,
        // For subscriptions that want a part of it only.
        MessageAttributes: { kind: attribute(kind), repository: attribute(repository), ...(runId ? { run: attribute(runId) } : {}) },
      })
      await client.send(command, { abortSignal: AbortSignal.timeout(MOST_MS) })
    } catch (thrown) {
      effects.log('warn', 'people are not told: the topic did not take it', { runId, kind, error: String(thrown) })
    }
  }
}
