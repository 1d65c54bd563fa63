/** The git token of the deployment: one secret, read once a function instance, by the functions that may. */
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { LoopError } from '../loop/errors.ts'
import { keepSecrets } from '../loop/redact.ts'
import { ENV } from '../names.ts'

/** null where the deployment has no secret: public repositories need none. Errors: StoreUnavailable. */
export const readGitToken = async (client?: SecretsManagerClient): Promise<string | null> => {
  const name = process.env[ENV.gitTokenSecret]
  if (!name) return null
  try {
    const secret = await (client ?? new SecretsManagerClient()).send(new GetSecretValueCommand({ SecretId: name }))
    const token = secret.SecretString?.trim() || null
    keepSecrets([token])
    return token
  } catch (cause) {
    throw new LoopError('StoreUnavailable', 'The secret with the git token could not be read.', {}, { cause })
  }
}
