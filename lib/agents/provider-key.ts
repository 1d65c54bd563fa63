/** The key of a model's provider: the deployment's secret, read once a process, or a variable of a laptop. */
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { keepSecrets } from '../loop/redact.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Variables: the one that names the secret, and those that hold the key itself, in their order. */
export interface KeyPlaces {
  secret: string
  local: readonly string[]
}

/** Throws an Error where none is set. What it gives throws where the secret cannot be read, and can be called again. */
export const providerKey = (
  environment: Environment,
  places: KeyPlaces,
  client?: Pick<SecretsManagerClient, 'send'>,
): (() => Promise<string>) => {
  const secret = environment[places.secret]
  const local = places.local.map((name) => environment[name]).find(Boolean)
  if (!secret && !local)
    throw new Error(places.local.length > 1 ? `neither ${places.local.join(' nor ')} is set` : `${places.local.join()} is not set`)
  let known: string | null = secret ? null : (local ?? null)
  keepSecrets([known])
  return async () => (known ??= await readSecret(secret ?? '', client))
}

const readSecret = async (name: string, client: Pick<SecretsManagerClient, 'send'> = new SecretsManagerClient()): Promise<string> => {
  try {
    const { SecretString: text = '' } = await client.send(new GetSecretValueCommand({ SecretId: name }))
    const key = text.trim()
    if (key === '') throw new Error('it is empty')
    keepSecrets([key])
    return key
  } catch (cause) {
    throw new Error("the secret with the provider's key could not be read", { cause })
  }
}
