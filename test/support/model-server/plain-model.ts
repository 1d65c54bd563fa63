/** A model that needs no provider: it reads the changed files, finds the word `bad`, and mends it. It takes its tools and rules as they come. */
import type { Message } from '@aws-sdk/client-bedrock-runtime'
import type { Model, ModelReply, ModelRequest, ToolCall } from './bedrock.ts'

export interface PlainModelOptions {
  /** One tool call a reply, where all could be made at once. */
  oneByOne?: boolean
  /** Said to itself in every reply, by role. */
  thoughts?: (role: string) => string
}

const roleOf = ({ system }: ModelRequest): string => /You are the (\w+)/.exec(system?.[0]?.text ?? '')?.[1] ?? 'nobody'

const textsOf = ({ content = [] }: Message): string[] => content.flatMap((block) => block.text ?? [])
const isPrompt = (message: Message): boolean =>
  message.role === 'user' && textsOf(message).some((text) => text.startsWith('The key of the data'))

/** The data of a label in the prompts of a message. */
const data = (text: string, label: string): string => {
  const [, key = ''] = /key of the data in this message is (\S+)\./.exec(text) ?? []
  return new RegExp(`<${key} ${label}>\\n([^]*?)\\n</${key}>`).exec(text)?.[1] ?? ''
}

interface Given {
  id: string
  file: string
}

const findingsIn = (text: string): Given[] =>
  data(text, 'findings')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Given)

/** Calls since the prompt, each with what came of it. */
const callsSince = (messages: readonly Message[]): { name: string; input: Record<string, unknown>; result: string }[] => {
  const results = new Map(
    messages.flatMap(({ content = [] }) =>
      content.flatMap(({ toolResult }) => (toolResult ? [[toolResult.toolUseId, toolResult.content?.[0]?.text ?? '']] : [])),
    ) as [string, string][],
  )
  return messages.flatMap(({ content = [] }) =>
    content.flatMap(({ toolUse }) =>
      toolUse
        ? [
            {
              name: toolUse.name ?? '',
              input: toolUse.input as Record<string, unknown>,
              result: results.get(toolUse.toolUseId ?? '') ?? '',
            },
          ]
        : [],
    ),
  )
}

/** Lines of a read file that hold the word, by number. */
const badLines = (result: string): { line: number; text: string }[] =>
  result.split('\n').flatMap((row) => {
    const [, line, text = ''] = /^ *(\d+) (.*)$/.exec(row) ?? []
    return line !== undefined && /\bbad\b/.test(text) ? [{ line: Number(line), text }] : []
  })

const pathsOf = (text: string): string[] =>
  [...data(text, 'changed-files').matchAll(/^(?:added|modified|renamed) ("(?:[^"\\]|\\.)*")(?! from "[^"]*" \(not)/gm)].map(
    ([, name = '""']) => JSON.parse(name) as string,
  )

const review = (known: readonly Given[], reads: ReadonlyMap<string, string>): ToolCall => {
  const stillBad = (file: string): boolean => badLines(reads.get(file) ?? '').length > 0
  const outstanding = new Set(known.map(({ file }) => file))
  const findings = [...reads].flatMap(([file, result]) =>
    outstanding.has(file)
      ? []
      : badLines(result).map(({ line, text: row }) => ({
          rule: 'bad-word',
          severity: 'error',
          action: 'auto-fix',
          file,
          line,
          endLine: null,
          text: `It says: ${row}`,
        })),
  )
  const accounts = known.map(({ id, file }) => ({ id, status: stillBad(file) ? 'open' : 'fixed', note: null }))
  return { name: 'report', input: { findings, accounts, skipped: [], summary: `Read ${reads.size} files.` } }
}

const mend = (known: readonly Given[], reads: ReadonlyMap<string, string>, done: readonly string[]): ToolCall[] => {
  const edits = [...new Set(known.map(({ file }) => file))].flatMap((file) =>
    badLines(reads.get(file) ?? '').map(({ text }) => ({
      name: 'edit_file',
      input: { file, before: text, after: text.replace('bad', 'good') },
    })),
  )
  const left = edits.filter(({ input }) => !done.includes(`${input.file}\n${input.before}`))
  if (left.length > 0) return left
  return [{ name: 'report', input: { results: known.map(({ id }) => ({ id, status: 'fixed', note: null })), summary: 'Said good.' } }]
}

export const plainModel =
  ({ oneByOne = false, thoughts }: PlainModelOptions = {}): Model =>
  (request): ModelReply => {
    const { messages = [] } = request
    const at = messages.findLastIndex(isPrompt)
    const prompts = messages.filter(isPrompt).flatMap(textsOf)
    const text = prompts.findLast((one) => one.includes(' changed-files>')) ?? ''
    const role = roleOf(request)
    const since = callsSince(messages.slice(at))
    const reads = new Map(
      callsSince(messages).flatMap(({ name, input, result }) => (name === 'read_file' ? [[String(input['file']), result] as const] : [])),
    )
    const readNow = new Set(since.flatMap(({ name, input }) => (name === 'read_file' ? [String(input['file'])] : [])))
    const known = findingsIn(prompts.at(-1) ?? '')
    const wanted = role === 'fixer' ? [...new Set(known.map(({ file }) => file))] : pathsOf(text)
    const unread = wanted.filter((file) => !readNow.has(file))
    const done = since.flatMap(({ name, input }) => (name === 'edit_file' ? [`${String(input['file'])}\n${String(input['before'])}`] : []))
    const tools =
      unread.length > 0
        ? unread.map((file) => ({ name: 'read_file', input: { file, line: null } }))
        : role === 'fixer'
          ? mend(known, reads, done)
          : [review(known, new Map(wanted.flatMap((file) => [[file, reads.get(file) ?? '']] as const)))]
    const thought = thoughts?.(role)
    return { ...(thought === undefined ? {} : { reasoning: thought, text: thought }), tools: oneByOne ? tools.slice(0, 1) : tools }
  }
