/** The provider's key: the deployment's secret, read once a process, or the variable of a laptop. Nobody but the gate's way out sees it. */
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { keepSecrets } from '../../loop/redact.ts'
import { ENV } from '../../names.ts'

const LOCAL = ['CODEX_API_KEY', 'OPENAI_API_KEY'] as const

type Environment = Readonly<Record<string, string | undefined>>

/** Throws an Error where neither is set. What it gives throws where the secret cannot be read, and can be called again. */
export const codexKey = (environment: Environment, client?: Pick<SecretsManagerClient, 'send'>): (() => Promise<string>) => {
  const secret = environment[ENV.codexKeySecret]
  const local = LOCAL.map((name) => environment[name]).find(Boolean)
  if (!secret && !local) throw new Error(`neither ${LOCAL.join(' nor ')} is set`)
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
