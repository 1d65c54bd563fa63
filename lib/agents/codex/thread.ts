/** One message to a thread of the command-line tool, and what it says until it is done or stopped. */
import type { Task } from '../../loop/agent.ts'
import { answerSchema } from '../../loop/prompts/answer-schema.ts'
import type { CodexThread } from './sdk.ts'

export interface Said {
  /** The thread that served; null where the tool did not come to one. */
  thread: string | null
  /** The last message; null where it said none. */
  answer: string | null
  /** Why it did not come to its end. */
  broken: string | null
}

export interface Saying {
  input: string
  task: Task
  /** The thread that is to serve; null: a new one. */
  asked: string | null
  signal: AbortSignal
}

export const converse = async (codex: CodexThread, { input, task, asked, signal }: Saying): Promise<Said> => {
  const said: Said = { thread: null, answer: null, broken: null }
  const other = new AbortController()
  try {
    const { events } = await codex.runStreamed(input, { outputSchema: answerSchema(task), signal: AbortSignal.any([signal, other.signal]) })
    for await (const event of events) {
      if (event.type === 'thread.started') said.thread = event.thread_id ?? null
      // Another thread knows nothing of what it is to go on with.
      if (asked !== null && said.thread !== asked) break
      if (event.type === 'item.completed' && event.item?.type === 'agent_message') said.answer = event.item.text ?? ''
      if (event.type === 'turn.failed') said.broken = event.error?.message ?? 'the turn failed'
    }
  } catch (error) {
    said.broken ??= reasonOf(error)
  } finally {
    other.abort()
  }
  return said
}

/** What the tool printed, without its warnings and without paths of this machine. */
const reasonOf = (error: unknown): string => {
  const text = error instanceof Error ? error.message : String(error)
  const lines = text.split('\n').filter((line) => !/^WARNING:|^Reading prompt from stdin|^\s*$/.test(line))
  return lines
    .join(' ')
    .replaceAll(/\/[^\s:]*\/(?=[^\s/:]+)/g, '')
    .slice(0, 500)
}
