/** What an agent is told besides the task: it has no system prompt of ours, so the first message of a session begins with it. */
import type { AgentTurn } from '../../loop/agent.ts'
import { answerSchema } from '../../loop/prompts/answer-schema.ts'
import { PROMPTS_VERSION, SYSTEM } from '../../loop/prompts/system.ts'
import { repairPrompt, turnPrompt } from '../../loop/prompts/turn-prompt.ts'
import type { Course } from './course.ts'
import type { TurnEntry } from './entries.ts'
import { reportTool, SERVER, toolNames } from './tool-server.ts'

/** Raised with every change to a text of this file. */
export const ACP_VERSION = `${PROMPTS_VERSION}, acp 1`

/** The same for every session of a role. */
export const introduction = ({ role, prompt }: Pick<AgentTurn, 'role' | 'prompt'>): string => {
  const report = reportTool(role)
  return `${SYSTEM[role]}

# Tools

Work with the tools of the MCP server ${SERVER}: ${toolNames(role).join(', ')}. The repository is not on your disk: the folder you are in is empty,
and only these tools reach the repository. Run no commands.

When you are done, call ${report} of ${SERVER}, once; nothing else that you say reaches anybody. If you cannot call it, let your last message be
the answer and nothing else: one JSON object of the schema ${JSON.stringify(answerSchema(prompt.task))}`
}

export const GO_ON = 'You were interrupted. Go on where you stopped; what you have done so far still stands.'

/** Of the context, what one message and what a whole turn may bring in as changes; the rest is for reading around and for answers. */
const PART = 0.15
const PARTS = 4
const MOST = 0.8

/** The messages of a turn; null where it goes on with those that it has. */
export const messagesOf = (
  { prompt, runId, turn }: AgentTurn,
  course: Course,
  options: { contextTokens: number; isResumed: boolean },
): TurnEntry | null => {
  if (prompt.kind === 'continue') return null
  const part = Math.floor(options.contextTokens * PART)
  const room = options.contextTokens * MOST - (course.size.context ?? 0)
  const parts = Math.max(1, Math.min(PARTS, Math.floor(room / part)))
  if (prompt.kind === 'task') {
    const made = turnPrompt(prompt.task, { runId, turn, budget: { part, parts }, shown: course.shown })
    return { type: 'turn', turn, kind: 'task', ...made }
  }
  const repair = repairPrompt(prompt.problem, { runId, turn })
  if (options.isResumed) return { type: 'turn', turn, kind: 'repair', parts: [{ text: repair, shown: {} }], skipped: [] }
  // An agent that kept nothing is told all of it again, in one message.
  const made = turnPrompt(prompt.task, { runId, turn, budget: { part, parts: 1 } })
  return {
    type: 'turn',
    turn,
    kind: 'task',
    ...made,
    parts: made.parts.map(({ text, shown }) => ({ text: `${text}\n\n${repair}`, shown })),
  }
}
