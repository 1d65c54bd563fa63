/** The secrets of the deployment, the git tokens and the key of the GitHub App, read by the functions that may. */
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { LoopError } from '../loop/errors.ts'
import { keepSecrets } from '../loop/redact.ts'
import { ENV } from '../names.ts'

const readSecret = async (name: string | undefined, what: string, client?: SecretsManagerClient): Promise<string | null> => {
  if (!name) return null
  try {
    const secret = await (client ?? new SecretsManagerClient()).send(new GetSecretValueCommand({ SecretId: name }))
    const token = secret.SecretString?.trim() || null
    keepSecrets([token])
    return token
  } catch (cause) {
    throw new LoopError('StoreUnavailable', `The secret with ${what} could not be read.`, {}, { cause })
  }
}

/** null where the deployment has no secret: public repositories need none. Errors: StoreUnavailable. */
export const readGitToken = (client?: SecretsManagerClient): Promise<string | null> =>
  readSecret(process.env[ENV.gitTokenSecret], 'the git token', client)

/** The token that pushes, which Publish alone may read; null where the deployment has none. Errors: StoreUnavailable. */
export const readPushToken = (client?: SecretsManagerClient): Promise<string | null> =>
  readSecret(process.env[ENV.pushTokenSecret], 'the git token that pushes', client)

/** Private key of the GitHub App, PEM; null where the deployment has no App. Errors: StoreUnavailable. */
export const readGithubKey = (client?: SecretsManagerClient): Promise<string | null> =>
  readSecret(process.env[ENV.githubKeySecret], 'the key of the GitHub App', client)
