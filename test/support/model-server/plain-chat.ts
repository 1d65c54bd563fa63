/** The plain model behind chat completions: it is shown the conversation as it knows it, and calls the tools by the names they have here. */
import type { ContentBlock, Message } from '@aws-sdk/client-bedrock-runtime'
import { type ChatMessage, type ChatModel, type ChatRequest, textOf } from './chat.ts'
import { plainModel, type PlainModelOptions } from './plain-model.ts'

const PREFIX = 'mcp__reviewloop__'
const PROMPT = 'The key of the data in this message is'

/** What stands before a prompt in the message is not a part of it. */
const pieces = (text: string): string[] => {
  const at = text.indexOf(PROMPT)
  return at > 0 ? [text.slice(0, at), text.slice(at)] : [text]
}

const nameHere = (name: string): string => {
  const plain = name.startsWith(PREFIX) ? name.slice(PREFIX.length) : name
  return plain.startsWith('report_') ? 'report' : plain
}

const blocksOf = (message: ChatMessage): ContentBlock[] => {
  if (message.role === 'tool')
    return [{ toolResult: { toolUseId: message.tool_call_id, content: [{ text: textOf(message) }], status: 'success' } }]
  const texts = pieces(textOf(message)).filter((text) => text !== '')
  const calls = (message.tool_calls ?? []).map(({ id, function: { name, arguments: input } }) => ({
    toolUse: { toolUseId: id, name: nameHere(name), input: JSON.parse(input) as never },
  }))
  return [...texts.map((text) => ({ text })), ...calls]
}

const converse = ({ messages }: ChatRequest): Message[] =>
  messages
    .filter(({ role }) => role !== 'system')
    .map((message) => ({ role: message.role === 'assistant' ? 'assistant' : 'user', content: blocksOf(message) }))

/** Text of the introduction, which says who the model is. */
const introductionIn = ({ messages }: ChatRequest): string =>
  messages
    .filter(({ role }) => role === 'user')
    .map(textOf)
    .find((text) => /You are the \w+/.test(text)) ?? ''

/** The last call was a report, and it was taken. */
const isReported = ({ messages }: ChatRequest): boolean => {
  const last = messages.at(-1)
  return last?.role === 'tool' && textOf(last) === 'Reported.'
}

export const plainChat = (options: PlainModelOptions = {}): ChatModel => {
  const model = plainModel(options)
  return async (request, call) => {
    if (isReported(request)) return { text: 'Done.' }
    const introduction = introductionIn(request)
    const at = introduction.search(/You are the \w+/)
    const reply = await model(
      { modelId: 'test', system: [{ text: introduction.slice(at) }], messages: converse(request), raw: request.raw, httpVersion: '1.1' },
      call,
    )
    if ('broken' in reply) return reply
    if ('error' in reply) return { status: reply.status }
    const tools = (reply.tools ?? []).map(({ name, input }) => {
      const wanted = name === 'report' ? /report_(?:findings|fixes)$/ : new RegExp(`${name}$`)
      const known = request.tools.find((tool) => tool.startsWith(PREFIX) && wanted.test(tool))
      if (!known) throw new Error(`there is no tool ${name}; there are ${request.tools.join(', ')}`)
      return { name: known, input }
    })
    return { ...(reply.text === undefined ? {} : { text: reply.text }), ...(tools.length > 0 ? { tools } : { text: 'Done.' }) }
  }
}
