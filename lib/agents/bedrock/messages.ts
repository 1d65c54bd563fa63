/** The transcript as messages of the Converse API. The same entries are the same messages, whoever asks and when. */
import type { CachePointBlock, ContentBlock, Message } from '@aws-sdk/client-bedrock-runtime'
import type { BedrockSettings } from './settings.ts'
import type { BedrockEntry, StoredBlock, TurnEntry } from './entries.ts'

/** The type of JSON values, as the SDK names it. */
type Document = Extract<ContentBlock, { toolUse: unknown }>['toolUse']['input']

const blockOf = (block: StoredBlock): ContentBlock => {
  if ('text' in block) return { text: block.text }
  if ('toolUse' in block) {
    const { id, name, input } = block.toolUse
    return { toolUse: { toolUseId: id, name, input: input as Document } }
  }
  if ('redacted' in block) return { reasoningContent: { redactedContent: Buffer.from(block.redacted, 'base64') } }
  const { text, signature } = block.reasoning
  return { reasoningContent: { reasoningText: { text, ...(signature === undefined ? {} : { signature }) } } }
}

/** A block of a reply as it is kept; null for kinds that no request may send back. */
export const storedOf = (block: ContentBlock): StoredBlock | null => {
  if (block.text !== undefined) return block.text.trim() === '' ? null : { text: block.text }
  if (block.toolUse) return { toolUse: { id: block.toolUse.toolUseId ?? '', name: block.toolUse.name ?? '', input: block.toolUse.input } }
  const { reasoningText, redactedContent } = block.reasoningContent ?? {}
  if (redactedContent) return { redacted: Buffer.from(redactedContent).toString('base64') }
  if (!reasoningText) return null
  const { text = '', signature } = reasoningText
  return { reasoning: { text, ...(signature === undefined ? {} : { signature }) } }
}

const userBlocks = (entry: BedrockEntry, asking: TurnEntry | null): ContentBlock[] => {
  if (entry.type === 'ask') return [{ text: asking?.parts[entry.part]?.text ?? '' }]
  if (entry.type === 'note') return [{ text: entry.text }]
  if (entry.type !== 'results') return []
  return entry.results.map(({ id, ok, text }) => ({
    toolResult: { toolUseId: id, content: [{ text }], status: ok ? ('success' as const) : ('error' as const) },
  }))
}

/** Messages in turn: what we say next to each other is one message, with results of tools first. */
const conversation = (entries: readonly BedrockEntry[]): Message[] => {
  const messages: Message[] = []
  let asking: TurnEntry | null = null
  for (const entry of entries) {
    if (entry.type === 'turn') asking = entry
    if (entry.type === 'reply') messages.push({ role: 'assistant', content: entry.content.map(blockOf) })
    const blocks = userBlocks(entry, asking)
    if (blocks.length === 0) continue
    const last = messages.at(-1)
    if (last?.role === 'user') last.content?.push(...blocks)
    else messages.push({ role: 'user', content: blocks })
  }
  return messages
}

export const cachePoint = ({ cache }: Pick<BedrockSettings, 'cache'>): { cachePoint: CachePointBlock }[] =>
  cache === 'off' ? [] : [{ cachePoint: { type: 'default', ...(cache === '1h' ? { ttl: '1h' as const } : {}) } }]

/**
 * The messages, with cache points at the ends of the last two of ours: one to find what the call before has written, one to write for the
 * call after. They are marks and no part of what is cached.
 */
export const messagesOf = (entries: readonly BedrockEntry[], settings: Pick<BedrockSettings, 'cache'>): Message[] => {
  const messages = conversation(entries)
  const ours = messages.flatMap(({ role }, index) => (role === 'user' ? [index] : [])).slice(-2)
  return messages.map((message, index) =>
    ours.includes(index) ? { ...message, content: [...(message.content ?? []), ...cachePoint(settings)] } : message,
  )
}
