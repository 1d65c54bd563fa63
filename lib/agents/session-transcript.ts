/** What agents of our own keep: a transcript that starts with the session it belongs to, and is believed only when all of it fits. */
import * as z from 'zod'
import type { AgentTurn } from '../loop/agent.ts'
import { TURN_ROLES } from '../names.ts'

const header = z.strictObject({
  type: z.literal('session'),
  id: z.string().min(1),
  role: z.enum(TURN_ROLES),
  agent: z.string(),
  version: z.string(),
})

export type OpenedSession<Entry> = { id: string; entries: Entry[] } | { lost: string }

const whyForeign = (found: z.infer<typeof header>, expected: z.infer<typeof header>): string | null => {
  if (found.agent !== expected.agent) return `the transcript is of agent ${found.agent}`
  if (found.version !== expected.version) return `the transcript was made by ${found.version}, this is ${expected.version}`
  if (found.role !== expected.role) return `the transcript is of the ${found.role}`
  return found.id === expected.id ? null : 'the transcript is of another session'
}

/**
 * Starts a session (or, without one, a transcript that a checkpoint can be continued from) or opens the one to resume. `lost` says
 * why a session cannot be resumed: its transcript is missing, foreign or damaged.
 */
export const openSession = <Entry>(
  { session, transcript, role }: Pick<AgentTurn, 'session' | 'transcript' | 'role'>,
  agent: { id: string; version: string },
  entry: z.ZodType<Entry>,
): OpenedSession<Entry> => {
  if (session.mode !== 'resume') {
    const id = (session.mode === 'start' ? session.id : null) ?? globalThis.crypto.randomUUID()
    transcript.reset()
    transcript.append({ type: 'session', id, role, agent: agent.id, version: agent.version })
    return { id, entries: [] }
  }
  const [first, ...rest] = transcript.history()
  if (first === undefined) return { lost: 'the transcript is empty' }
  const head = header.safeParse(first)
  if (!head.success) return { lost: 'the transcript does not start with its session' }
  const foreign = whyForeign(head.data, { type: 'session', id: session.id, role, agent: agent.id, version: agent.version })
  if (foreign) return { lost: foreign }
  const entries: Entry[] = []
  for (const [index, one] of rest.entries()) {
    const parsed = entry.safeParse(one)
    if (!parsed.success) return { lost: `entry ${index + 2} of the transcript is damaged` }
    entries.push(parsed.data)
  }
  return { id: session.id, entries }
}

/** The same for a turn as it comes: a repair without a session goes on in the transcript of the attempt before it. */
export const openTurn = <Entry>(turn: AgentTurn, agent: { id: string; version: string }, entry: z.ZodType<Entry>): OpenedSession<Entry> => {
  const [head] = turn.transcript.history()
  const isGoneOn = turn.prompt.kind === 'repair' && turn.session.mode === 'none'
  const id = isGoneOn && typeof head === 'object' && head !== null && 'id' in head ? String(head.id) : null
  return openSession(id === null ? turn : { ...turn, session: { mode: 'resume', id } }, agent, entry)
}

/** Usage of an agent behind which no model stands. */
export const NO_TOKENS = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, dollars: 0, calls: 1 } as const
