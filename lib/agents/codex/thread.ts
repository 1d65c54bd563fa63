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

/** The tool has read its message by then, whether or not it has said anything. */
const BEGUN_MS = 15_000

/**
 * The SDK leaves two errors to nobody, and so to the end of this process: of a tool that goes before it has read its message, and of a
 * signal that is aborted when its events have come to an end. So a stop waits for the first event, and the signal is one of our own.
 */
export const converse = async (codex: CodexThread, { input, task, asked, signal }: Saying): Promise<Said> => {
  const said: Said = { thread: null, answer: null, broken: null }
  const begun = Promise.withResolvers<void>()
  const own = new AbortController()
  let isOver = false
  const stop = async (): Promise<void> => {
    const late = setTimeout(begun.resolve, BEGUN_MS)
    await begun.promise
    clearTimeout(late)
    if (!isOver) own.abort()
  }
  if (signal.aborted) void stop()
  else signal.addEventListener('abort', () => void stop(), { once: true })
  try {
    const { events } = await codex.runStreamed(input, { outputSchema: answerSchema(task), signal: own.signal })
    for await (const event of events) {
      begun.resolve()
      if (event.type === 'thread.started') said.thread = event.thread_id ?? null
      // Another thread knows nothing of what it is to go on with.
      if (asked !== null && said.thread !== null && said.thread !== asked) own.abort()
      if (event.type === 'item.completed' && event.item?.type === 'agent_message') said.answer = event.item.text ?? ''
      if (event.type === 'turn.failed') said.broken = event.error?.message ?? 'the turn failed'
    }
  } catch (error) {
    said.broken ??= reasonOf(error)
  } finally {
    isOver = true
    begun.resolve()
  }
  return said
}

/** What the tool printed, without its warnings and without paths of this machine. */
const reasonOf = (error: unknown): string => {
  const text = error instanceof Error ? error.message : String(error)
  return text
    .replaceAll(/^(.*exited with [^:]*: )?(?:WARNING:.*|Reading prompt from stdin\.*)$/gm, '$1')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/\/[^\s:]*\/(?=[^\s/:]+)/g, '')
    .slice(0, 500)
}
