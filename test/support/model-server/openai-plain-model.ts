/** The model that needs no provider (plain-model.ts), asked through the Responses API. */
import type { ContentBlock, Message } from '@aws-sdk/client-bedrock-runtime'
import type { Item, Model } from './openai.ts'
import { plainModel as conversePlainModel, type PlainModelOptions } from './plain-model.ts'

const textOf = (content: Item['content']): string => (content ?? []).map(({ text }) => text ?? '').join('\n')

/** The tool puts a line about time before what a tool said. */
const outputOf = (output: Item['output']): string =>
  typeof output === 'string' ? output : (output ?? []).flatMap(({ text = '' }) => (text.startsWith('Wall time:') ? [] : [text])).join('\n')

const messageOf = (item: Item): Message[] => {
  const { type, role, content, name = '', call_id = '' } = item
  const message = (who: 'user' | 'assistant', block: ContentBlock): Message[] => [{ role: who, content: [block] }]
  if (type === 'message' && role !== 'developer') return message(role === 'assistant' ? 'assistant' : 'user', { text: textOf(content) })
  if (type === 'function_call')
    return message('assistant', { toolUse: { toolUseId: call_id, name, input: JSON.parse(item.arguments ?? '{}') as never } })
  if (type === 'function_call_output')
    return message('user', { toolResult: { toolUseId: call_id, content: [{ text: outputOf(item.output) }] } })
  return []
}

export const plainModel = (options: PlainModelOptions = {}): Model => {
  const plain = conversePlainModel(options)
  return async ({ input, raw }, call) => {
    const system = input.flatMap(({ role, content }) => (role === 'developer' ? [{ text: textOf(content) }] : []))
    const reply = await plain({ modelId: '', raw, httpVersion: '1.1', system, messages: input.flatMap(messageOf) }, call)
    if (!('tools' in reply)) throw new Error('the plain model did not answer')
    const { tools = [], reasoning } = reply
    const report = tools.find(({ name }) => name === 'report')
    const others = tools.filter(({ name }) => name !== 'report')
    const thoughts = reasoning === undefined ? {} : { reasoning }
    if (others.length > 0) return { ...thoughts, ...(reply.text === undefined ? {} : { text: reply.text }), tools: others }
    return { ...thoughts, text: JSON.stringify(report?.input) }
  }
}
