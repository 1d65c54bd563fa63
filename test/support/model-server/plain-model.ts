/** A model that needs no provider: it reads the changed files, finds bad words, and mends them. It takes its tools and rules as they come. */
import type { Message } from '@aws-sdk/client-bedrock-runtime'
import type { Model, ModelReply, ModelRequest, ToolCall } from './bedrock.ts'

export interface PlainModelOptions {
  /** One tool call a reply, where all could be made at once. */
  oneByOne?: boolean
  /** What it says to itself in every way there is: thoughts, talk, what it looks for, notes, summaries. */
  thoughts?: (role: string) => string
  /** Words that are found; the fixer puts the next in the place of one, and `good` in that of the last. */
  words?: readonly string[]
  /** It does not read again what it has read in this conversation, unless the change it is shown holds it. */
  remembers?: boolean
  /** Files around the change that it reads besides. */
  around?: readonly string[]
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
  rule: string
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

/** Lines of a read file that hold one of the words, by number. */
const badLines = (result: string, words: readonly string[]): { line: number; text: string; word: string }[] =>
  result.split('\n').flatMap((row) => {
    const [, line, text = ''] = /^ *(\d+) (.*)$/.exec(row) ?? []
    const word = words.find((one) => new RegExp(`\\b${one}\\b`).test(text))
    return line !== undefined && word !== undefined ? [{ line: Number(line), text, word }] : []
  })

const pathsOf = (text: string): string[] =>
  [...data(text, 'changed-files').matchAll(/^(?:added|modified|renamed) ("(?:[^"\\]|\\.)*")(?! from "[^"]*" \(not)/gm)].map(
    ([, name = '""']) => JSON.parse(name) as string,
  )

interface Scene {
  known: readonly Given[]
  /** What was read of the files this is about. */
  reads: ReadonlyMap<string, string>
  words: readonly string[]
  /** Of an account, of a result: what it says to itself. */
  note: string | null
}

const review = ({ known, reads, words, note }: Scene): ToolCall => {
  const rulesIn = (file: string): string[] => badLines(reads.get(file) ?? '', words).map(({ word }) => `${word}-word`)
  const outstanding = new Set(known.map(({ file, rule }) => `${file} ${rule}`))
  const findings = [...reads].flatMap(([file, result]) =>
    badLines(result, words).flatMap(({ line, text, word }) =>
      outstanding.has(`${file} ${word}-word`)
        ? []
        : [{ rule: `${word}-word`, severity: 'error', action: 'auto-fix', file, line, endLine: null, text: `It says: ${text}` }],
    ),
  )
  const accounts = known.map(({ id, file, rule }) => ({ id, status: rulesIn(file).includes(rule) ? 'open' : 'fixed', note }))
  return { name: 'report', input: { findings, accounts, skipped: [], summary: note ?? `Read ${reads.size} files.` } }
}

const mend = ({ known, reads, words, note }: Scene, done: readonly string[]): ToolCall[] => {
  const edits = [...new Set(known.map(({ file }) => file))].flatMap((file) =>
    badLines(reads.get(file) ?? '', words).map(({ text, word }) => ({
      name: 'edit_file',
      input: { file, before: text, after: text.replace(word, words[words.indexOf(word) + 1] ?? 'good') },
    })),
  )
  const left = edits.filter(({ input }) => !done.includes(`${input.file}\n${input.before}`))
  if (left.length > 0) return left
  return [{ name: 'report', input: { results: known.map(({ id }) => ({ id, status: 'fixed', note })), summary: note ?? 'Said better.' } }]
}

const readBefore = (messages: readonly Message[]): Set<string> =>
  new Set(callsSince(messages).flatMap(({ name, input }) => (name === 'read_file' ? [String(input['file'])] : [])))

/** Looks for what it thinks of, and tries to put it where it does not stand. */
const muse = (thought: string, role: string, file: string): ToolCall[] => [
  { name: 'search', input: { text: thought, folder: null } },
  ...(role === 'fixer' ? [{ name: 'edit_file', input: { file, before: thought, after: thought } }] : []),
]

export const plainModel =
  ({ oneByOne = false, thoughts, words = ['bad'], remembers = false, around = [] }: PlainModelOptions = {}): Model =>
  (request): ModelReply => {
    const { messages = [] } = request
    const at = messages.findLastIndex(isPrompt)
    const prompts = messages.filter(isPrompt).flatMap(textsOf)
    const text = prompts.findLast((one) => one.includes(' changed-files>')) ?? ''
    const role = roleOf(request)
    const since = callsSince(messages.slice(at))
    const readNow = new Map(
      since.flatMap(({ name, input, result }) => (name === 'read_file' ? [[String(input['file']), result] as const] : [])),
    )
    const known = findingsIn(prompts.at(-1) ?? '')
    const before = readBefore(messages.slice(0, Math.max(0, at)))
    const isKnown = (file: string): boolean => remembers && before.has(file) && !data(text, 'diff').includes(JSON.stringify(file))
    const changed = role === 'fixer' ? [...new Set(known.map(({ file }) => file))] : pathsOf(text)
    const wanted = [...changed, ...around].filter((file) => !isKnown(file))
    const unread = wanted.filter((file) => !readNow.has(file))
    const done = since.flatMap(({ name, input }) => (name === 'edit_file' ? [`${String(input['file'])}\n${String(input['before'])}`] : []))
    const thought = thoughts?.(role)
    const scene = { known, reads: readNow, words, note: thought ?? null }
    const reads = unread.map((file) => ({ name: 'read_file', input: { file, line: null } }))
    const tools = unread.length > 0 ? reads : role === 'fixer' ? mend(scene, done) : [review(scene)]
    const musings = thought !== undefined && since.length === 0 ? muse(thought, role, wanted[0] ?? '') : []
    return {
      ...(thought === undefined ? {} : { reasoning: thought, text: thought }),
      tools: oneByOne ? tools.slice(0, 1) : [...musings, ...tools],
    }
  }
