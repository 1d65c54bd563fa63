/** A model provider on loopback that speaks OpenAI's chat completions, streamed: the protocol that most agents can be pointed at. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content?: string | { type: string; text?: string }[] | null
  tool_calls?: { id: string; function: { name: string; arguments: string } }[]
  tool_call_id?: string
}

export interface ChatRequest {
  messages: ChatMessage[]
  tools: string[]
  /** As it was sent. */
  raw: string
}

export type ChatReply =
  | { text?: string; tools?: { name: string; input: unknown }[]; finish?: 'stop' | 'length' | 'tool_calls' | 'content_filter' }
  | { status: number; message?: string }
  /** The connection is cut, or nothing is ever answered. */
  | { broken: 'cut' | 'hang' }

export type ChatModel = (request: ChatRequest, call: number) => ChatReply | Promise<ChatReply>

export interface ChatServer extends AsyncDisposable {
  url: string
  /** Every request, in order. */
  requests: ChatRequest[]
  /** Requests of any other kind: there should be none. */
  others: string[]
  /** What the next requests are answered with; after that the model is asked. */
  script: (ChatReply | ChatModel)[]
  model: ChatModel
}

export const textOf = ({ content }: ChatMessage): string =>
  typeof content === 'string' ? content : (content ?? []).flatMap(({ text }) => text ?? []).join('\n')

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const fail = (response: ServerResponse, status: number, message: string): void => {
  const headers = { 'content-type': 'application/json', ...(status === 429 ? { 'retry-after': '0' } : {}) }
  response.writeHead(status, headers).end(JSON.stringify({ error: { message, type: 'error', code: String(status) } }))
}

/** What the real services refuse, so that a wrong request is seen. */
const objectionTo = ({ messages }: ChatRequest): string | null => {
  const open = new Set<string>()
  for (const message of messages) {
    if (message.role === 'tool' ? !open.delete(message.tool_call_id ?? '') : open.size > 0)
      return 'tool messages have to answer the calls of the message before'
    for (const call of message.tool_calls ?? []) open.add(call.id)
  }
  return open.size > 0 ? 'a call of a tool has no answer' : null
}

const stream = (
  response: ServerResponse,
  { text = '', tools = [], finish }: Exclude<ChatReply, { status: number } | { broken: string }>,
  call: number,
  size: number,
) => {
  const send = (part: object): void => {
    response.write(
      `data: ${JSON.stringify({ id: `chat-${call}`, object: 'chat.completion.chunk', created: 1, model: 'test', ...part })}\n\n`,
    )
  }
  const calls = tools.map(({ name, input }, index) => ({
    index,
    id: `call_${call}_${index}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(input) },
  }))
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const delta = { role: 'assistant', content: text, ...(calls.length > 0 ? { tool_calls: calls } : {}) }
  send({ choices: [{ index: 0, delta, finish_reason: null }] })
  send({ choices: [{ index: 0, delta: {}, finish_reason: finish ?? (calls.length > 0 ? 'tool_calls' : 'stop') }] })
  const prompt = Math.ceil(size / 4)
  const usage = { prompt_tokens: prompt, completion_tokens: 10, total_tokens: prompt + 10, prompt_tokens_details: { cached_tokens: 0 } }
  send({ choices: [], usage })
  response.end('data: [DONE]\n\n')
}

export const startChatServer = async (model: ChatModel): Promise<ChatServer> => {
  const requests: ChatRequest[] = []
  const others: string[] = []
  const script: ChatServer['script'] = []

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const raw = await bodyOf(incoming)
    if (incoming.method !== 'POST' || incoming.url !== '/v1/chat/completions') {
      others.push(`${incoming.method} ${incoming.url}`)
      fail(response, 404, 'no such operation')
      return
    }
    const body = JSON.parse(raw) as { messages: ChatMessage[]; tools?: { function: { name: string } }[] }
    const request = { messages: body.messages, tools: (body.tools ?? []).map((tool) => tool.function.name), raw }
    requests.push(request)
    const objection = objectionTo(request)
    const step = objection === null ? (script.shift() ?? server.model) : { status: 400, message: objection }
    const reply = typeof step === 'function' ? await step(request, requests.length) : step
    if ('broken' in reply) {
      if (reply.broken === 'cut') incoming.socket.destroy()
      return
    }
    if ('status' in reply) fail(response, reply.status, reply.message ?? 'refused')
    else stream(response, reply, requests.length, raw.length)
  }

  const http = createServer((incoming, response) => {
    // A test's model that fails must be seen to fail, and not be tried again.
    serve(incoming, response).catch((error: unknown) => fail(response, 400, `the test's model failed: ${String(error)}`))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  const server: ChatServer = {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    others,
    script,
    model,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        http.close(() => resolve())
        http.closeAllConnections()
      }),
  }
  return server
}
