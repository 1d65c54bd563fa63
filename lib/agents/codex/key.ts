/** The key of the model's provider. Nobody but the gate's way out sees it. */
import { ENV } from '../../names.ts'
import { providerKey } from '../provider-key.ts'

const PLACES = { secret: ENV.codexKeySecret, local: ['CODEX_API_KEY', 'OPENAI_API_KEY'] } as const

/** As `providerKey` gives it. */
export const codexKey = (environment: Parameters<typeof providerKey>[0], client?: Parameters<typeof providerKey>[2]) =>
  providerKey(environment, PLACES, client)
