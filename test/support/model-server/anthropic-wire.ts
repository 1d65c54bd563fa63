/** The Anthropic Messages API as it goes over the wire: requests read, replies written, as a stream of events or in Bedrock's frames. */
import type { ServerResponse } from 'node:http'
import { crc32 } from 'node:zlib'
import type { Message, SystemContentBlock, Tool } from '@aws-sdk/client-bedrock-runtime'
import type { ModelReply, ModelRequest } from './bedrock.ts'

interface Block {
  type: string
  text?: string
  thinking?: string
  signature?: string
  id?: string
  name?: string
  input?: unknown
  tool_use_id?: string
  content?: string | Block[]
  is_error?: boolean
  cache_control?: unknown
}
export interface AnthropicBody {
  model?: string
  stream?: boolean
  system?: string | Block[]
  tools?: { name: string; cache_control?: unknown }[]
  messages: { role: string; content: string | Block[] }[]
}

/** Where the agent's own tools stand among those of the model. */
const PREFIX = 'mcp__workspace__'
const ANSWER = 'StructuredOutput'
const ownName = (name: string): string => (name === ANSWER ? 'report' : name.replace(PREFIX, ''))
const wireName = (name: string): string => (name === 'report' ? ANSWER : `${PREFIX}${name}`)

const blocksOf = (content: string | Block[] = []): Block[] => (typeof content === 'string' ? [{ type: 'text', text: content }] : content)

const converseBlock = (block: Block): unknown => {
  if (block.type === 'tool_use') return { toolUse: { toolUseId: block.id, name: ownName(block.name ?? ''), input: block.input } }
  if (block.type !== 'tool_result') return { text: block.text ?? '' }
  const text = blocksOf(block.content)
    .map((one) => one.text)
    .join('\n')
  return { toolResult: { toolUseId: block.tool_use_id, status: block.is_error ? 'error' : 'success', content: [{ text }] } }
}
const withPoint = (block: Block): unknown[] => [converseBlock(block), ...(block.cache_control ? [{ cachePoint: { type: 'default' } }] : [])]

/** As the models of these tests read requests, whatever the provider: Converse's shape, tools by their own names. */
export const readRequest = (raw: string, modelId: string, httpVersion: string): ModelRequest => {
  const body = JSON.parse(raw) as AnthropicBody
  return {
    modelId: body.model ?? modelId,
    raw,
    httpVersion,
    // Who calls the model stands in a block of its own, before what it is told.
    system: blocksOf(body.system).slice(-1).flatMap(withPoint) as SystemContentBlock[],
    toolConfig: { tools: (body.tools ?? []).map((tool) => ({ toolSpec: { ...tool, name: ownName(tool.name) } })) as unknown as Tool[] },
    messages: body.messages.map(({ role, content }) => ({ role, content: blocksOf(content).flatMap(withPoint) })) as Message[],
  }
}

/** The request as one text, without its cache marks, which are no part of it. */
export const requestText = (raw: string): string => {
  const { tools = [], system, messages } = JSON.parse(raw) as AnthropicBody
  const plain = (value: object): string => JSON.stringify({ ...value, cache_control: undefined })
  const texts = [
    ...tools.map(plain),
    ...blocksOf(system).map(plain),
    ...messages.flatMap(({ role, content }) => [`[${role}]`, ...blocksOf(content).map(plain)]),
  ]
  return texts.map((text) => `${text}\n`).join('')
}

/** The same without what is another on every machine and every day. */
export const portable = (text: string): string => text.replaceAll(/OS Version: .*?(?=\\n)|Today's date is \S*(?=\.)|cc_version=[^;]*/g, '?')

export interface WireUsage {
  input_tokens: number
  cache_read_input_tokens: number
  cache_creation_input_tokens: number
}
type Answer = Extract<ModelReply, { tools?: unknown }>

const contentOf = ({ text, reasoning, tools = [] }: Answer, call: number): Block[] => [
  ...(reasoning === undefined ? [] : [{ type: 'thinking', thinking: reasoning, signature: `signed-${call}` }]),
  ...(text === undefined ? [] : [{ type: 'text', text }]),
  ...tools.map(({ name, input }, index) => ({ type: 'tool_use', id: `toolu_${call}_${index}`, name: wireName(name), input })),
]

export const answerBody = (reply: Answer, call: number, model: string, usage: WireUsage) => {
  const content = contentOf(reply, call)
  return {
    id: `msg_${call}`,
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: reply.stop ?? (reply.tools?.length ? 'tool_use' : 'end_turn'),
    stop_sequence: null,
    usage: { ...usage, output_tokens: reply.output ?? Math.ceil(JSON.stringify(content).length / 4) },
  }
}
type Body = ReturnType<typeof answerBody>

const deltasOf = (block: Block): [start: object, deltas: object[]] => {
  if (block.type === 'tool_use') return [{ ...block, input: {} }, [{ type: 'input_json_delta', partial_json: JSON.stringify(block.input) }]]
  if (block.type === 'thinking')
    return [
      { type: 'thinking', thinking: '', signature: '' },
      [
        { type: 'thinking_delta', thinking: block.thinking },
        { type: 'signature_delta', signature: block.signature },
      ],
    ]
  return [{ type: 'text', text: '' }, [{ type: 'text_delta', text: block.text }]]
}

const eventsOf = ({ content, stop_reason, usage, ...message }: Body): { type: string }[] => [
  { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } } } as {
    type: string
  },
  ...content.flatMap((block, index) => {
    const [start, deltas] = deltasOf(block)
    return [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]
  }),
  { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: usage.output_tokens } } as { type: string },
  { type: 'message_stop' },
]

/** One frame of AWS's event stream. */
const frame = (headers: Record<string, string>, payload: string): Buffer => {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(Buffer.byteLength(value))
      return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, Buffer.from(value)])
    }),
  )
  const body = Buffer.from(payload)
  const whole = Buffer.alloc(16 + head.length + body.length)
  whole.writeUInt32BE(whole.length, 0)
  whole.writeUInt32BE(head.length, 4)
  whole.writeUInt32BE(crc32(whole.subarray(0, 8)), 8)
  head.copy(whole, 12)
  body.copy(whole, 12 + head.length)
  whole.writeUInt32BE(crc32(whole.subarray(0, -4)), whole.length - 4)
  return whole
}

export const sendEvents = (response: ServerResponse, body: Body): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of eventsOf(body)) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  response.end()
}

export const sendFrames = (response: ServerResponse, body: Body): void => {
  response.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' })
  const headers = { ':event-type': 'chunk', ':content-type': 'application/json', ':message-type': 'event' }
  for (const event of eventsOf(body))
    response.write(frame(headers, JSON.stringify({ bytes: Buffer.from(JSON.stringify(event)).toString('base64') })))
  response.end()
}
