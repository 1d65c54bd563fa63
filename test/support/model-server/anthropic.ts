/** A model provider on loopback that speaks the Anthropic Messages API, by itself and as Bedrock has it: what it answers is a test's to say. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { answerBody, type AnthropicBody, readRequest, sendEvents, sendFrames } from './anthropic-wire.ts'
import type { Model, ModelServer } from './bedrock.ts'
import { PrefixCache } from './prefix-cache.ts'

export interface AnthropicServer extends ModelServer {
  /** Everything that was asked, in order: `POST /v1/messages`, the path without its query. */
  asked: string[]
  /** Connections that are open. */
  readonly open: number
  /** Headers of the latest request. */
  headers: IncomingMessage['headers']
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const refuse = (response: ServerResponse, status: number, type: string, message: string): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ type: 'error', error: { type, message } }))
}

/** What the real service refuses, so that a wrong request is seen. */
const objectionTo = ({ messages }: AnthropicBody): string | null => {
  const blocks = messages.map(({ content }) => (typeof content === 'string' ? [] : content))
  const uses = blocks.flatMap((content) => content.flatMap(({ type, id }) => (type === 'tool_use' ? [id] : [])))
  const results = blocks.flatMap((content) => content.flatMap(({ type, tool_use_id }) => (type === 'tool_result' ? [tool_use_id] : [])))
  if (uses.join() !== results.join()) return 'tool_use ids were found without tool_result blocks immediately after'
  if (messages[0]?.role !== 'user') return 'first message must use the user role'
  return blocks.flat().filter(({ cache_control }) => cache_control).length > 4 ? 'too many blocks with cache_control' : null
}

const BEDROCK = /^\/model\/([^/]+)\/invoke-with-response-stream$/

export const startAnthropicServer = async (model: Model): Promise<AnthropicServer> => {
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const raw = await bodyOf(incoming)
    const path = (incoming.url ?? '').split('?')[0] ?? ''
    server.asked.push(`${incoming.method} ${path}`)
    server.headers = incoming.headers
    const id = BEDROCK.exec(path)?.[1]
    if (incoming.method !== 'POST' || (path !== '/v1/messages' && id === undefined))
      return refuse(response, 404, 'not_found_error', 'no such route')
    const request = readRequest(raw, decodeURIComponent(id ?? ''), incoming.httpVersion)
    server.requests.push(request)
    const body = JSON.parse(raw) as AnthropicBody
    const objection = objectionTo(body)
    const step =
      objection === null ? (server.script.shift() ?? server.model) : { error: 'invalid_request_error', status: 400, message: objection }
    const call = server.requests.length
    const reply = typeof step === 'function' ? await step(request, call) : step
    if ('broken' in reply) {
      if (reply.broken === 'cut') incoming.socket.destroy()
      return
    }
    if ('error' in reply) return refuse(response, reply.status, reply.error, reply.message ?? reply.error)
    const used = server.cache.use(request)
    const answer = answerBody(reply, call, request.modelId, {
      input_tokens: used.inputTokens,
      cache_read_input_tokens: used.cacheReadInputTokens,
      cache_creation_input_tokens: used.cacheWriteInputTokens,
    })
    if (id !== undefined) sendFrames(response, answer)
    else if (body.stream) sendEvents(response, answer)
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }

  const http = createServer((incoming, response) => {
    // A test's model that fails must be seen to fail, and not be tried again.
    serve(incoming, response).catch((error: unknown) =>
      refuse(response, 400, 'invalid_request_error', `the test's model failed: ${String(error)}`),
    )
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const sockets = new Set<Socket>()
  http.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  const server: AnthropicServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    requests: [],
    script: [],
    asked: [],
    headers: {},
    get open() {
      return sockets.size
    },
    model,
    cache: Object.assign(new PrefixCache(), { looksBack: true }),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        http.close(() => resolve())
        http.closeAllConnections()
      }),
  }
  return server
}
