/** The way to the provider: requests as the command-line tool makes them, with the key that it does not have. */
import { request as plainRequest, type IncomingMessage } from 'node:http'
import { request as tlsRequest } from 'node:https'
import { setTimeout as wait } from 'node:timers/promises'
import { type Answered, type Outcome, outcomeOf } from './ends.ts'

export interface ProviderOptions {
  baseUrl: string
  key: () => Promise<string>
  /** Tries of one call in all. */
  attempts: number
}

/** Gives the whole answer, and what it means. `attempted` is told of each try. Throws where `signal` is aborted. */
export type Provider = (
  body: string,
  options: { signal: AbortSignal; attempted: () => void },
) => Promise<{ answered: Answered; outcome: Outcome }>

const FIRST_WAIT_MS = 1000
const LONGEST_WAIT_MS = 60_000

export const provider = ({ baseUrl, key, attempts }: ProviderOptions): Provider => {
  const url = new URL(`${baseUrl}/responses`)
  return async (body, { signal, attempted }) => {
    for (let attempt = 1; ; attempt++) {
      attempted()
      const answered = await post(url, body, { key, signal })
      const outcome = outcomeOf(answered)
      if (attempt >= attempts || !isTransient(outcome)) return { answered, outcome }
      const ms = answered.retryAfter === null ? FIRST_WAIT_MS * 2 ** (attempt - 1) * (1 + Math.random()) : answered.retryAfter * 1000
      await wait(Math.min(ms, LONGEST_WAIT_MS), undefined, { signal })
    }
  }
}

const isTransient = ({ stop }: Outcome): boolean =>
  stop?.kind === 'failed' && (stop.error === 'AgentThrottled' || stop.error === 'AgentOverloaded')

/** A connection that fails is an answer too, and so is a key that cannot be had: both may be there the next time. */
const post = async (url: URL, body: string, { key, signal }: Pick<ProviderOptions, 'key'> & { signal: AbortSignal }): Promise<Answered> => {
  try {
    return await send(url, body, `Bearer ${await key()}`, signal)
  } catch (error) {
    signal.throwIfAborted()
    const reason = error instanceof Error && 'code' in error ? String(error.code) : error instanceof Error ? error.message : String(error)
    return { status: 503, retryAfter: null, text: JSON.stringify({ error: { code: 'server_error', message: reason } }) }
  }
}

/** By node's own client: the built-in fetch gives a silent model up after five minutes. */
const send = async (url: URL, body: string, authorization: string, signal: AbortSignal): Promise<Answered> => {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = (url.protocol === 'https:' ? tlsRequest : plainRequest)(
      url,
      {
        method: 'POST',
        signal,
        headers: {
          authorization,
          accept: 'text/event-stream',
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'reviewloop',
        },
      },
      resolve,
    )
    request.on('error', reject).end(body)
  })
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  const after = Number(response.headers['retry-after'])
  return {
    status: response.statusCode ?? 0,
    retryAfter: Number.isFinite(after) && after >= 0 && response.headers['retry-after'] !== undefined ? after : null,
    text: Buffer.concat(chunks).toString(),
  }
}
