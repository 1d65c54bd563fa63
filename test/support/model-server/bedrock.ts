/** A model provider on loopback that speaks Bedrock's Converse API: what it answers is a test's to say; its prefix cache is its own. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { ConverseCommandInput } from '@aws-sdk/client-bedrock-runtime'
import { PrefixCache } from './prefix-cache.ts'

/** The body of a request, and how it came. */
export interface ModelRequest extends Pick<
  ConverseCommandInput,
  'messages' | 'system' | 'toolConfig' | 'inferenceConfig' | 'outputConfig'
> {
  modelId: string
  /** As it was sent. */
  raw: string
  httpVersion: string
}

export interface ToolCall {
  name: string
  input: unknown
}

export type ModelReply =
  | { text?: string; reasoning?: string; tools?: ToolCall[]; stop?: string; output?: number }
  | { error: string; status: number; message?: string }
  /** The connection is cut, or nothing is ever answered. */
  | { broken: 'cut' | 'hang' }

export type Model = (request: ModelRequest, call: number) => ModelReply | Promise<ModelReply>

export interface ModelServer extends AsyncDisposable {
  url: string
  /** Every request, in order. */
  requests: ModelRequest[]
  /** What the next requests are answered with; after that the model is asked. */
  script: (ModelReply | Model)[]
  model: Model
  cache: PrefixCache
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const contentOf = ({ text, reasoning, tools = [] }: Extract<ModelReply, { tools?: ToolCall[] }>, call: number): unknown[] => [
  ...(reasoning === undefined ? [] : [{ reasoningContent: { reasoningText: { text: reasoning, signature: `signed-${call}` } } }]),
  ...(text === undefined ? [] : [{ text }]),
  ...tools.map(({ name, input }, index) => ({ toolUse: { toolUseId: `tooluse_${call}_${index}`, name, input } })),
]

const send = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { 'content-type': 'application/json', 'x-amzn-requestid': 'request', ...headers }).end(JSON.stringify(body))
}

/** What the real service refuses, so that a wrong request is seen. */
const objectionTo = ({ messages = [], toolConfig }: ModelRequest): string | null => {
  const roles = messages.map(({ role }) => role)
  if (roles[0] !== 'user') return 'A conversation must start with a user message.'
  if (roles.some((role, index) => role === roles[index - 1])) return 'Roles must alternate.'
  if (roles.at(-1) !== 'user') return 'The last turn must be a user message.'
  let points = JSON.stringify(messages).split('"cachePoint"').length - 1
  for (const [index, { content = [] }] of messages.entries()) {
    if (content.length === 0) return `messages.${index}: content must not be empty`
    const results = content.flatMap((block) => block.toolResult?.toolUseId ?? [])
    const uses = (messages[index - 1]?.content ?? []).flatMap((block) => block.toolUse?.toolUseId ?? [])
    if (uses.join() !== results.join()) return `messages.${index}: tool results do not match the tool uses before`
    if (content.some((block, at) => block.toolResult && at >= results.length)) return `messages.${index}: tool results have to come first`
    if (content.some((block) => block.text !== undefined && block.text.trim() === '')) return `messages.${index}: text must not be blank`
  }
  points += 1
  if (points > 4) return 'A maximum of 4 cache points is allowed.'
  return (toolConfig?.tools ?? []).length > 0 ? null : 'There are no tools.'
}

export const startModelServer = async (model: Model): Promise<ModelServer> => {
  const requests: ModelRequest[] = []
  const script: ModelServer['script'] = []
  const cache = new PrefixCache()

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const raw = await bodyOf(incoming)
    const [, id = ''] = /^\/model\/([^/]+)\/converse$/.exec(incoming.url ?? '') ?? []
    if (incoming.method !== 'POST' || id === '') {
      send(response, 404, { message: 'no such operation' }, { 'x-amzn-errortype': 'UnknownOperationException' })
      return
    }
    const request: ModelRequest = {
      ...(JSON.parse(raw) as Omit<ModelRequest, 'modelId' | 'raw' | 'httpVersion'>),
      modelId: decodeURIComponent(id),
      raw,
      httpVersion: incoming.httpVersion,
    }
    requests.push(request)
    const objection = objectionTo(request)
    const step = objection === null ? (script.shift() ?? server.model) : { error: 'ValidationException', status: 400, message: objection }
    const reply = typeof step === 'function' ? await step(request, requests.length) : step
    if ('broken' in reply) {
      if (reply.broken === 'cut') incoming.socket.destroy()
      return
    }
    if ('error' in reply) {
      send(
        response,
        reply.status,
        { message: reply.message ?? reply.error },
        { 'x-amzn-errortype': `${reply.error}:http://internal.amazon.com/coral/` },
      )
      return
    }
    const content = contentOf(reply, requests.length)
    const usage = cache.use(request)
    const outputTokens = reply.output ?? Math.ceil(JSON.stringify(content).length / 4)
    send(response, 200, {
      output: { message: { role: 'assistant', content } },
      stopReason: reply.stop ?? (reply.tools?.length ? 'tool_use' : 'end_turn'),
      usage: {
        ...usage,
        outputTokens,
        totalTokens: usage.inputTokens + usage.cacheReadInputTokens + usage.cacheWriteInputTokens + outputTokens,
      },
      metrics: { latencyMs: 1 },
    })
  }

  const http = createServer((incoming, response) => {
    serve(incoming, response).catch((error: unknown) => {
      // A test's model that fails must be seen to fail, and not be tried again.
      send(response, 400, { message: `the test's model failed: ${String(error)}` }, { 'x-amzn-errortype': 'ValidationException' })
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  const server: ModelServer = {
    url: `http://127.0.0.1:${port}`,
    requests,
    script,
    model,
    cache,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        http.close(() => resolve())
        http.closeAllConnections()
      }),
  }
  return server
}
