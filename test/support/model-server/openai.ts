/** A model provider on loopback that speaks OpenAI's Responses API, streamed: what it answers is a test's to say. */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as z from 'zod'

const part = z.looseObject({ type: z.string(), text: z.string().optional() })
const item = z.looseObject({
  type: z.string(),
  id: z.string().optional(),
  role: z.string().optional(),
  content: z.array(part).nullish(),
  name: z.string().optional(),
  namespace: z.string().optional(),
  arguments: z.string().optional(),
  call_id: z.string().optional(),
  output: z.union([z.string(), z.array(part)]).optional(),
})
const toolSpec = z.looseObject({
  type: z.string(),
  name: z.string().optional(),
  tools: z.array(z.looseObject({ name: z.string() })).optional(),
})
const body = z.looseObject({
  model: z.string(),
  stream: z.literal(true),
  store: z.literal(false),
  input: z.array(item).min(1),
  tools: z.array(toolSpec),
  reasoning: z.looseObject({ effort: z.string().optional() }).nullish(),
  text: z.looseObject({ format: z.looseObject({ type: z.string(), strict: z.boolean() }).optional() }).optional(),
  prompt_cache_key: z.string(),
})
export type Item = z.infer<typeof item>

/** The body of a request, and how it came. */
export interface ModelRequest extends z.infer<typeof body> {
  /** As it was sent. */
  raw: string
  headers: IncomingHttpHeaders
}

export interface ToolCall {
  name: string
  input: unknown
}

export type ModelReply =
  | { text?: string; reasoning?: string; tools?: ToolCall[]; items?: object[]; output?: number; input?: number }
  /** Before anything was said. */
  | { status: number; code?: string; message?: string; headers?: Record<string, string> }
  /** In the stream. */
  | { failed: string; message?: string }
  | { incomplete: string }
  /** The connection is cut, in the middle of the answer or before it, or nothing is ever answered. */
  | { broken: 'cut' | 'late' | 'hang' }

export type Model = (request: ModelRequest, call: number) => ModelReply | Promise<ModelReply>

export interface ModelServer extends AsyncDisposable {
  /** To be set as base URL. */
  url: string
  /** Every request, in order. */
  requests: ModelRequest[]
  /** Whatever else was asked for. */
  strays: string[]
  /** What the next requests are answered with; after that the model is asked. */
  script: (ModelReply | Model)[]
  model: Model
}

const TOKEN = 4

/** Everything the model is given, in the order in which it is read. */
export const promptText = ({ tools, input }: Pick<ModelRequest, 'tools' | 'input'>): string =>
  [...tools, ...input].map((piece) => `${JSON.stringify(piece)}\n`).join('')

/** What the real service refuses, so that a wrong request is seen. */
const objectionTo = ({ input, text }: ModelRequest): string | null => {
  const calls = input.flatMap(({ type, call_id }) => (type.endsWith('_call') && call_id !== undefined ? [call_id] : []))
  const outputs = input.flatMap(({ type, call_id }) => (type.endsWith('_call_output') && call_id !== undefined ? [call_id] : []))
  if (calls.toSorted().join() !== outputs.toSorted().join()) return 'No tool output found for function call.'
  return text?.format?.strict ? null : 'Missing required parameter: text.format'
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

const itemsOf = ({ text, reasoning, tools = [], items = [] }: Extract<ModelReply, { tools?: ToolCall[] }>, call: number): object[] => [
  ...(reasoning === undefined
    ? []
    : [
        {
          type: 'reasoning',
          id: `rs_${call}`,
          summary: [{ type: 'summary_text', text: reasoning }],
          encrypted_content: `sealed ${reasoning}`,
        },
      ]),
  ...(text === undefined
    ? []
    : [{ type: 'message', id: `msg_${call}`, role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] }]),
  ...items,
  ...tools.map(({ name, input }, index) => ({
    type: 'function_call',
    id: `fc_${call}_${index}`,
    call_id: `call_${call}_${index}`,
    namespace: 'mcp__files',
    name,
    arguments: JSON.stringify(input),
  })),
]

export const startModelServer = async (model: Model): Promise<ModelServer> => {
  const requests: ModelRequest[] = []
  const strays: string[] = []
  const script: ModelServer['script'] = []
  /** The provider's cache: what it was last given for a key. */
  const known = new Map<string, string>()

  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const raw = await bodyOf(incoming)
    if (incoming.method !== 'POST' || incoming.url !== '/v1/responses') {
      strays.push(`${incoming.method} ${incoming.url}`)
      response.writeHead(404).end()
      return
    }
    const request: ModelRequest = { ...body.parse(JSON.parse(raw)), raw, headers: incoming.headers }
    requests.push(request)
    const call = requests.length
    const objection = objectionTo(request)
    const step = objection === null ? (script.shift() ?? server.model) : { status: 400, code: 'invalid_request', message: objection }
    const reply = typeof step === 'function' ? await step(request, call) : step
    if ('status' in reply) {
      const { status, code = null, message = `status ${status}`, headers = {} } = reply
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify({ error: { code, message } }))
      return
    }
    if ('broken' in reply && reply.broken !== 'late') {
      if (reply.broken === 'cut') incoming.socket.destroy()
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const say = (type: string, data: object): void => void response.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`)
    const id = `resp_${call}`
    say('response.created', { response: { id } })
    if ('broken' in reply) {
      response.write('data: {"type":"response.output', () => incoming.socket.destroy())
      return
    }
    const text = promptText(request)
    const cached = commonLength(known.get(request.prompt_cache_key) ?? '', text)
    known.set(request.prompt_cache_key, text)
    const items = 'failed' in reply || 'incomplete' in reply ? [] : itemsOf(reply, call)
    const input = ('input' in reply ? reply.input : undefined) ?? Math.ceil(text.length / TOKEN)
    const output = ('output' in reply ? reply.output : undefined) ?? Math.ceil(JSON.stringify(items).length / TOKEN)
    const usage = {
      input_tokens: input,
      input_tokens_details: { cached_tokens: Math.min(input, Math.floor(cached / TOKEN)) },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: input + output,
    }
    for (const [index, one] of items.entries()) say('response.output_item.done', { output_index: index, item: one })
    if ('failed' in reply)
      say('response.failed', { response: { id, usage, error: { code: reply.failed, message: reply.message ?? reply.failed } } })
    else if ('incomplete' in reply)
      say('response.incomplete', { response: { id, usage, incomplete_details: { reason: reply.incomplete } } })
    else say('response.completed', { response: { id, usage } })
    response.end()
  }

  const http = createServer((incoming, response) => {
    serve(incoming, response).catch((error: unknown) => {
      // A test's model that fails must be seen to fail, and not be tried again.
      response.writeHead(400).end(JSON.stringify({ error: { message: `the test's model failed: ${String(error)}` } }))
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const server: ModelServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1`,
    requests,
    strays,
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

const commonLength = (a: string, b: string): number => {
  let at = 0
  while (at < a.length && at < b.length && a[at] === b[at]) at++
  return at
}
