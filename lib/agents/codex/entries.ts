/** What a session's transcript holds: what its turns were shown, and the rollout file of the thread, line by line as it stood. */
import * as z from 'zod'
import type { AgentTurn, Transcript } from '../../loop/agent.ts'
import { type SkippedFile, skippedFile } from '../../loop/output.ts'
import type { Shown } from '../../loop/prompts/plan.ts'
import { openSession } from '../session-transcript.ts'

/** A task was given: hash of each file's change that it showed, and the files that it left out. */
const taskEntry = z.strictObject({
  type: z.literal('task'),
  turn: z.int().min(1),
  shown: z.record(z.string(), z.string()),
  skipped: z.array(skippedFile),
})
/** Where the file stands below CODEX_HOME. */
const rolloutEntry = z.strictObject({
  type: z.literal('rollout'),
  path: z.string().regex(/^sessions\/\d{4}\/\d{2}\/\d{2}\/rollout-[\w-]+\.jsonl$/),
})
/** To the byte: what is parsed and written again need not be what it was. */
const lineEntry = z.strictObject({ type: z.literal('line'), text: z.string() })
/** Tokens of the conversation after its last call. */
const contextEntry = z.strictObject({ type: z.literal('context'), tokens: z.int().min(0) })

const entry = z.discriminatedUnion('type', [taskEntry, rolloutEntry, lineEntry, contextEntry])
export type TaskEntry = z.infer<typeof taskEntry>

export interface Rollout {
  path: string
  lines: string[]
}

/** A session as it is between two calls of the agent. */
export interface Memory {
  /** The thread; null where it has not begun. */
  thread: string | null
  tasks: TaskEntry[]
  rollout: Rollout | null
  context: number
}

const NO_MEMORY: Memory = { thread: null, tasks: [], rollout: null, context: 0 }

type Maker = { id: string; version: string }

/** An id that is none of these makes the command-line tool begin a new thread without a word. */
const THREAD = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/**
 * The memory of the session to go on in, or none where one is to begin. `lost`: its transcript is missing, foreign or damaged, or its
 * id is not that of a thread. A repair, or going on, without a session takes up the transcript of the call before it.
 */
export const remember = (turn: AgentTurn, agent: Maker): Memory | { lost: string } => {
  const { session, prompt, transcript } = turn
  const [head] = transcript.history()
  const before = typeof head === 'object' && head !== null && 'id' in head ? String(head.id) : null
  const id = session.mode === 'resume' ? session.id : session.mode === 'none' && prompt.kind !== 'task' ? before : null
  if (id === null) return prompt.kind === 'task' ? NO_MEMORY : { lost: 'there is no transcript to go on from' }
  if (!THREAD.test(id)) return { lost: 'the id is not that of a thread' }
  const opened = openSession({ ...turn, session: { mode: 'resume', id } }, agent, entry)
  if ('lost' in opened) return opened
  const { entries } = opened
  const tasks = entries.filter((one) => one.type === 'task')
  const path = entries.find((one) => one.type === 'rollout')?.path
  const lines = entries.flatMap((one) => (one.type === 'line' ? [one.text] : []))
  if (path === undefined || tasks.length === 0 || !path.includes(id)) return { lost: 'the transcript does not hold its thread' }
  const objection = objectionTo(lines, id)
  if (objection !== null) return { lost: objection }
  return { thread: id, tasks, rollout: { path, lines }, context: entries.find((one) => one.type === 'context')?.tokens ?? 0 }
}

const rolloutLine = z.looseObject({ type: z.string(), payload: z.looseObject({ id: z.string().optional() }) })

/** The tool passes over lines that it cannot read, so that they are looked at here. */
const objectionTo = (lines: readonly string[], id: string): string | null => {
  for (const [index, line] of lines.entries()) {
    const parsed = rolloutLine.safeParse(jsonOf(line))
    if (!parsed.success) return `line ${index + 1} of the thread's file is damaged`
    if (index === 0 && (parsed.data.type !== 'session_meta' || parsed.data.payload.id !== id)) return 'the file is of another thread'
  }
  return lines.length === 0 ? "the thread's file is empty" : null
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Writes the memory as the whole of the transcript. */
export const keep = (turn: AgentTurn, agent: Maker, { thread, tasks, rollout, context }: Memory): void => {
  if (thread === null || rollout === null) return
  const { transcript } = turn
  openSession({ ...turn, session: { mode: 'start', id: thread } }, agent, entry)
  const append = (one: z.infer<typeof entry>): void => (transcript satisfies Transcript).append(one)
  for (const task of tasks) append(task)
  append({ type: 'context', tokens: context })
  append({ type: 'rollout', path: rollout.path })
  for (const text of rollout.lines) append({ type: 'line', text })
}

export const shownBy = ({ tasks }: Memory): Shown => Object.assign({}, ...tasks.map(({ shown }) => shown)) as Shown

/** What the latest task left out. */
export const unreadOf = ({ tasks }: Memory): SkippedFile[] => tasks.at(-1)?.skipped ?? []
