/** Requests to a forge's API: bounded in time, tried again where that helps, and what went wrong by its row of the catalogue. */
import { setTimeout as pause } from 'node:timers/promises'
import { request } from '@octokit/request'
import { LoopError } from '../loop/errors.ts'
import { oneLine, redact } from '../loop/redact.ts'

export interface ApiOptions {
  /** As people call the forge. */
  name: string
  apiUrl: string
  headers: Record<string, string>
  /** Waits; a test may wait less. */
  sleep?: (ms: number, signal: AbortSignal) => Promise<void>
  /** Milliseconds until a request that is not answered is given up. */
  timeout?: number
}

export interface CallOptions {
  signal: AbortSignal
  /** Sent once: sending it again could do it twice. Only where it was refused for coming too often is it sent again. */
  once?: boolean
}

export interface ApiAnswer {
  data: unknown
  /** Whether a list goes on after this page, as the header `link` says. */
  hasMore: boolean
}

export interface ApiClient {
  /** `route`: method and path, with `{name}` for parameters. Errors: ForgeRefused, ForgeInvalid, ForgeThrottled, ForgeUnavailable. */
  call(route: string, parameters: object, options: CallOptions): Promise<ApiAnswer>
  sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

const TRIES = 3
/** Pauses between tries where the server says nothing of how long, ms. */
const PAUSES = [1000, 3000]
/** Longer than this nobody waits inside a function, ms. */
const LONGEST_WAIT_MS = 45_000
const TIMEOUT_MS = 15_000

/** What the library throws: an answer, or the failure to get one (status 500, without a response). */
interface Thrown {
  status?: number
  message?: string
  response?: { headers: Record<string, string | undefined>; data?: unknown }
}

const defaultSleep = (ms: number, signal: AbortSignal): Promise<void> => pause(ms, undefined, { signal })

/** ms until it may be asked again; null where this is no matter of asking too often. */
const waitOf = ({ status, response, message = '' }: Thrown): number | null => {
  if (status !== 429 && status !== 403) return null
  const headers = response?.headers ?? {}
  const seconds = Number(headers['retry-after'])
  if (headers['retry-after'] && Number.isFinite(seconds)) return Math.max(1, seconds) * 1000
  const reset = Number(headers['x-ratelimit-reset'])
  if (headers['x-ratelimit-remaining'] === '0' && Number.isFinite(reset)) return Math.max(1000, reset * 1000 - Date.now())
  return status === 429 || /rate limit/i.test(message) ? 60_000 : null
}

const errorOf = (name: string, route: string, thrown: Thrown): LoopError => {
  const { status = 0, response, message = '' } = thrown
  const details = { status, route }
  const wait = waitOf(thrown)
  if (wait !== null) {
    const seconds = Math.ceil(wait / 1000)
    return new LoopError('ForgeThrottled', `${name} wants to be left alone for ${seconds} s`, { ...details, seconds })
  }
  if (!response || status >= 500) {
    const why = response ? `answered ${status}` : 'did not answer'
    return new LoopError('ForgeUnavailable', `${name} ${why}: ${route}`, details, { cause: thrown })
  }
  const said = `${name} answered ${status} to ${route}: ${oneLine(redact(message), 300)}`
  return new LoopError(status === 400 || status === 422 ? 'ForgeInvalid' : 'ForgeRefused', said, details)
}

/** ms to wait before the next try; null where another try does not help. */
const pauseBefore = (tries: number, error: LoopError, once: boolean): number | null => {
  if (tries >= TRIES) return null
  if (error.name === 'ForgeThrottled') {
    const ms = Number(error.details['seconds']) * 1000
    return ms <= LONGEST_WAIT_MS ? ms : null
  }
  return error.name === 'ForgeUnavailable' && !once ? (PAUSES[tries - 1] ?? null) : null
}

export const apiClient = ({ name, apiUrl, headers, sleep = defaultSleep, timeout = TIMEOUT_MS }: ApiOptions): ApiClient => {
  const send = request.defaults({
    baseUrl: apiUrl.replace(/\/+$/, ''),
    headers: { ...headers, 'user-agent': 'reviewloop' },
    // Its own log would write to the console, which is a function's log.
    request: { log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} } },
  })
  const once = async (route: string, parameters: object, signal: AbortSignal): Promise<ApiAnswer> => {
    const within = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
    // Whoever follows takes what was renamed for what the settings name.
    const {
      status,
      data,
      headers: given,
    } = await send(route, {
      ...parameters,
      request: { signal: within, redirect: 'manual' },
    }).catch((thrown: unknown) => {
      throw errorOf(name, route, thrown as Thrown)
    })
    if (status >= 300)
      throw new LoopError('ForgeRefused', `${name} answered ${status} to ${route}: what it is about was renamed or has moved`, {
        status,
        route,
      })
    return { data, hasMore: /rel="next"/.test(given.link ?? '') }
  }
  const call: ApiClient['call'] = async (route, parameters, options) => {
    for (let tries = 1; ; tries++) {
      try {
        return await once(route, parameters, options.signal)
      } catch (thrown) {
        const error = thrown as LoopError
        const ms = options.signal.aborted ? null : pauseBefore(tries, error, options.once ?? false)
        if (ms === null) throw error
        await sleep(ms, options.signal).catch(() => {
          throw error
        })
      }
    }
  }
  return { call, sleep }
}

/**
 * Makes something once: where it is not known whether it was made, it is looked for before it is made again.
 * Errors: those of `create` and of `find`.
 */
export const createOnce = async <T>(
  client: Pick<ApiClient, 'sleep'>,
  signal: AbortSignal,
  { find, create }: { find: () => Promise<T | null>; create: () => Promise<T> },
): Promise<T> => {
  for (let tries = 1; ; tries++) {
    try {
      return await create()
    } catch (thrown) {
      const ms = thrown instanceof LoopError && thrown.name === 'ForgeUnavailable' && !signal.aborted ? PAUSES[tries - 1] : undefined
      if (ms === undefined) throw thrown
      await client.sleep(ms, signal).catch(() => {
        throw thrown
      })
      const found = await find()
      if (found) return found
    }
  }
}
