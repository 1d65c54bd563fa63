/**
 * The one thing that the command-line tool talks to: a server of ours on loopback, for one turn. It is the tool's model provider, and its
 * server of tools. The key stays on this side, and so do budget, time and limits: they are looked at before each call of the model.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import * as z from 'zod'
import type { AgentTurn } from '../../loop/agent.ts'
import type { Pace } from '../pace.ts'
import type { SpentMeter } from '../spent.ts'
import type { Tool } from '../tools/tool.ts'
import type { Stop } from './ends.ts'
import type { Provider } from './provider.ts'
import { toolServer } from './tool-server.ts'

export interface GateOptions {
  turn: AgentTurn
  /** The thread that is to go on; null: a new one. */
  thread: string | null
  tools: readonly Tool[]
  provider: Provider
  meter: SpentMeter
  pace: Pace
  /** Tokens of the conversation so far. */
  context: number
  /** Tokens that the model can be given. */
  contextTokens: number
  /** Whether the thread's file holds an item of the conversation. */
  isKept: (item: string) => Promise<boolean>
}

export interface Gate extends AsyncDisposable {
  url: string
  /** What the tool has to show. */
  token: string
  /** Aborted when the turn has to stop; `stop` says why. */
  signal: AbortSignal
  readonly stop: Stop | null
  readonly context: number
}

/** So many calls before the last, the model is told to come to an end. */
const LAST_CALLS = 5
/** Part of the context past which the model is told so too. */
const FULL = 0.85
const KEPT_MS = 2000

const asked = z.looseObject({ input: z.array(z.looseObject({ id: z.string().optional() })) })

export const openGate = async (options: GateOptions): Promise<Gate> => {
  const { turn, tools, provider, meter, pace, contextTokens, isKept } = options
  const { budget } = turn
  const token = randomBytes(32).toString('hex')
  const controller = new AbortController()
  let stop: Stop | null = null
  let context = options.context

  const end = (why: Stop): void => {
    stop ??= why
    controller.abort()
  }
  const note = (): string | null =>
    meter.calls >= budget.calls - LAST_CALLS || context > contextTokens * FULL
      ? 'There is no room for more. Answer now, and say what you did not get to.'
      : null
  const toolsOfTurn = toolServer({ tools, turn, note })

  const beforeCall = (): Stop | null => {
    // A call takes in all of the conversation.
    if (budget.tokens <= 0 || meter.tokens + context > budget.tokens) return { kind: 'limit', limit: 'tokens' }
    if (meter.knowsDollars && meter.dollars >= budget.dollars) return { kind: 'limit', limit: 'dollars' }
    if (meter.calls >= budget.calls) return { kind: 'limit', limit: 'turn_calls' }
    return pace.isShort ? { kind: 'late' } : null
  }

  /** A call that is not made leaves what led to it in the thread's file: the session goes on from there. */
  const untilKept = async (body: string): Promise<void> => {
    const item = asked.safeParse(JSON.parse(body)).data?.input.findLast(({ id }) => id !== undefined)?.id
    const until = Date.now() + KEPT_MS
    if (item === undefined) return
    while (Date.now() < until && !(await isKept(item))) await wait(10)
  }

  const askModel = async (body: string, response: ServerResponse): Promise<void> => {
    const stopped = beforeCall()
    if (stopped) {
      await untilKept(body)
      end(stopped)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    const { answered, outcome } = await provider(body, { signal: controller.signal, attempted: () => meter.call() })
    if (outcome.tokens) context = meter.add(outcome.tokens)
    if (outcome.stop) {
      end(outcome.stop)
      return
    }
    pace.didCall()
    response.end(answered.text)
  }

  const useTools = async (body: string, response: ServerResponse): Promise<void> => {
    const answer = await toolsOfTurn(JSON.parse(body))
    if (answer === null) response.writeHead(202).end()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    // Another thread has no memory of what it was told to go on with: nobody is asked on its behalf.
    const other = options.thread !== null && request.headers['thread-id'] !== options.thread
    if (request.headers.authorization !== `Bearer ${token}`) response.writeHead(401).end()
    else if (request.method !== 'POST') response.writeHead(405).end()
    else if (request.url === '/responses' && other) end({ kind: 'lost', reason: 'it went on in another thread' })
    else if (request.url === '/responses') await askModel(await bodyOf(request), response)
    else if (request.url === '/tools') await useTools(await bodyOf(request), response)
    else response.writeHead(404).end()
  }

  const http = createServer((request, response) => {
    serve(request, response).catch((error: unknown) => {
      // Where the turn has been stopped, nobody waits for an answer.
      end({ kind: 'failed', error: 'AgentFailed', reason: error instanceof Error ? error.message : String(error) })
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const late = setTimeout(() => end({ kind: 'late' }), Math.max(0, pace.left))
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    token,
    signal: controller.signal,
    get stop() {
      return stop
    },
    get context() {
      return context
    },
    [Symbol.asyncDispose]: () => {
      clearTimeout(late)
      controller.abort()
      return new Promise<void>((resolve) => {
        http.close(() => resolve())
        http.closeAllConnections()
      })
    },
  }
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}
