/** One call of the model, through the SDK's own client, and what its errors mean to a turn. */
import {
  BedrockRuntimeClient,
  ConverseCommand,
  type ConverseCommandInput,
  type ConverseCommandOutput,
  type TokenUsage,
} from '@aws-sdk/client-bedrock-runtime'
import { NodeHttpHandler } from '@smithy/node-http-handler'
import type { CallTokens } from '../spent.ts'

export interface Connection {
  /** null: as the SDK finds it. */
  region: string | null
  endpoint?: string
  /** Tries of one call in all, with the SDK's own waits between them. */
  attempts?: number
}

/** How a call ended that brought no reply. `late`: its time was over. */
export type CallFailure =
  | { kind: 'late' }
  | { kind: 'lost'; reason: string }
  | { kind: 'refused'; reason: string }
  | { kind: 'failed'; error: 'AgentThrottled' | 'AgentOverloaded' | 'AgentTimedOut' | 'AgentCancelled' | 'AgentFailed'; reason: string }

export type Call = (
  input: ConverseCommandInput,
  options: { ms: number; signal: AbortSignal },
) => Promise<ConverseCommandOutput | CallFailure>

/** Longer than any reply of a model takes. */
const REQUEST_MS = 600_000

/** HTTP/1.1: the client's own default is HTTP/2, which gains nothing for one call after the other. */
export const connect = ({ region, endpoint, attempts = 4 }: Connection): Call => {
  const client = new BedrockRuntimeClient({
    ...(region === null ? {} : { region }),
    ...(endpoint === undefined ? {} : { endpoint }),
    maxAttempts: attempts,
    requestHandler: new NodeHttpHandler({ connectionTimeout: 10_000, requestTimeout: REQUEST_MS, throwOnRequestTimeout: true }),
  })
  return async (input, { ms, signal }) => {
    const late = AbortSignal.timeout(Math.max(0, Math.floor(ms)))
    try {
      return await client.send(new ConverseCommand(input), { abortSignal: AbortSignal.any([signal, late]) })
    } catch (error) {
      if (signal.aborted) return { kind: 'failed', error: 'AgentCancelled', reason: 'the turn was interrupted' }
      return late.aborted ? { kind: 'late' } : failureOf(error)
    }
  }
}

const THROTTLES = ['ThrottlingException', 'ServiceQuotaExceededException', 'TooManyRequestsException']
const OVERLOADS = ['ModelNotReadyException', 'ServiceUnavailableException', 'InternalServerException', 'ModelErrorException']
const TIMEOUTS = ['ModelTimeoutException', 'TimeoutError']
const REFUSALS = [
  'AccessDeniedException',
  'ResourceNotFoundException',
  'UnrecognizedClientException',
  'ExpiredTokenException',
  'CredentialsProviderError',
]
const NETWORK = /^(?:ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)/
/** The conversation is longer than the model can be given. */
const TOO_LONG = /too long|too many (?:input )?tokens|context (?:window|length)|maximum (?:context|number of tokens)/i

/** Told apart by the names of the service's own errors, then by status. */
const failureOf = (error: unknown): CallFailure => {
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  const status = statusOf(error)
  const reason = `${name}: ${message}`
  if (THROTTLES.includes(name)) return { kind: 'failed', error: 'AgentThrottled', reason }
  if (OVERLOADS.includes(name)) return { kind: 'failed', error: 'AgentOverloaded', reason }
  // The SDK names a connection that was cut a time-out as well; its code tells.
  if (error instanceof Error && 'code' in error && NETWORK.test(String(error.code)))
    return { kind: 'failed', error: 'AgentOverloaded', reason }
  if (TIMEOUTS.includes(name)) return { kind: 'failed', error: 'AgentTimedOut', reason }
  if (REFUSALS.includes(name)) return { kind: 'refused', reason }
  if (name === 'ValidationException' && TOO_LONG.test(message)) return { kind: 'lost', reason: `the conversation is too long (${message})` }
  if (status === 429) return { kind: 'failed', error: 'AgentThrottled', reason }
  if (status !== null && status >= 500) return { kind: 'failed', error: 'AgentOverloaded', reason }
  if (status === 401 || status === 403) return { kind: 'refused', reason }
  return { kind: 'failed', error: 'AgentFailed', reason }
}

const statusOf = (error: unknown): number | null => {
  const metadata = error instanceof Error && '$metadata' in error ? (error.$metadata as { httpStatusCode?: number } | undefined) : undefined
  return metadata?.httpStatusCode ?? null
}

/** The provider's input tokens are those that its cache had nothing to do with. */
export const tokensOf = (usage: TokenUsage | undefined): CallTokens => ({
  plain: usage?.inputTokens ?? 0,
  output: usage?.outputTokens ?? 0,
  cacheRead: usage?.cacheReadInputTokens ?? 0,
  cacheWrite: usage?.cacheWriteInputTokens ?? 0,
})
