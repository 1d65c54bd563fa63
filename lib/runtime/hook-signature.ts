/** Who sent a delivery: the secret that the webhook and the deployment share, checked over the very bytes that came in. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { LoopError } from '../loop/errors.ts'
import { keepSecrets } from '../loop/redact.ts'
import { requireEnv } from './environment.ts'
import { ENV } from '../names.ts'

/** A shorter secret could be guessed. */
const SHORTEST = 16
const KEEP_MS = 5 * 60_000

const sign = (secret: string, body: Uint8Array): Buffer => Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)

/** `signature` is the header X-Hub-Signature-256. All secrets are tried, so that how long it takes says nothing of which one fits. */
export const isSigned = (body: Uint8Array, signature: string | undefined, secrets: readonly string[]): boolean => {
  const given = Buffer.from(signature ?? '')
  let fits = false
  for (const secret of secrets) {
    const wanted = sign(secret, body)
    if (given.length === wanted.length && timingSafeEqual(given, wanted)) fits = true
  }
  return fits
}

/**
 * Reads the secret of the webhooks, kept for five minutes: one a line, so that an old one goes on being good while a new one is set.
 * Errors: StoreUnavailable, also where the secret is too short to be one.
 */
export const hookSecrets = (
  client: SecretsManagerClient = new SecretsManagerClient(),
  now: () => number = Date.now,
): (() => Promise<string[]>) => {
  const name = requireEnv(ENV.hookSecret)
  let known: { secrets: string[]; until: number } | null = null
  return async () => {
    if (known && known.until > now()) return known.secrets
    let text: string
    try {
      text = (await client.send(new GetSecretValueCommand({ SecretId: name }))).SecretString ?? ''
    } catch (cause) {
      throw new LoopError('StoreUnavailable', 'The secret of the webhooks could not be read.', {}, { cause })
    }
    const secrets = text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line.length >= SHORTEST)
    if (!secrets.length)
      throw new LoopError('StoreUnavailable', `The secret of the webhooks holds no line of ${SHORTEST} characters or more.`)
    keepSecrets(secrets)
    known = { secrets, until: now() + KEEP_MS }
    return secrets
  }
}
