/** What a turn gives to the thread, and what its end means to the loop. */
import type { AgentResult, AgentTurn } from '../../loop/agent.ts'
import { LoopError } from '../../loop/errors.ts'
import { answerOf } from '../../loop/prompts/answer-schema.ts'
import { repairPrompt, turnPrompt } from '../../loop/prompts/turn-prompt.ts'
import type { Usage } from '../../loop/record.ts'
import type { SpentMeter } from '../spent.ts'
import { answerOfParts } from '../tools/answer.ts'
import type { Stop } from './ends.ts'
import { type Memory, shownBy, unreadOf } from './entries.ts'
import type { CodexSettings } from './settings.ts'
import type { Said } from './thread.ts'

export interface Opened {
  memory: Memory
  input: string
  meter: SpentMeter
}

/** Of the context, what the message of a turn may bring in as changes, and what may be full with it; the rest is for reading around and for answers. */
const PART = 0.4
const MOST = 0.8
const LEAST = 0.05

/** The message, and the memory with what it shows. A turn that goes on is told so: the tool knows no turn without a message. */
export const inputOf = (
  { prompt, role, runId, turn }: AgentTurn,
  memory: Memory,
  { contextTokens }: CodexSettings,
): Omit<Opened, 'meter'> => {
  const { task } = prompt
  if ((task.kind === 'fix') !== (role === 'fixer')) throw new LoopError('Unexpected', `A ${role} was given a task of kind ${task.kind}.`)
  if (prompt.kind === 'continue') return { memory, input: 'Go on where you stopped.' }
  if (prompt.kind === 'repair') return { memory, input: repairPrompt(prompt.problem, { runId, turn }) }
  const room = Math.max(contextTokens * LEAST, Math.min(contextTokens * PART, contextTokens * MOST - memory.context))
  const { parts, skipped } = turnPrompt(task, { runId, turn, budget: { part: Math.floor(room), parts: 1 }, shown: shownBy(memory) })
  const [part] = parts
  if (!part) throw new LoopError('Unexpected', 'There is nothing to say.')
  return { memory: { ...memory, tasks: [...memory.tasks, { type: 'task', turn, shown: { ...part.shown }, skipped }] }, input: part.text }
}

export interface Ended {
  said: Said
  memory: Memory
  stop: Stop | null
  /** Whether the model has answered a call. */
  progressed: boolean
  /** The thread that was to go on; null where one was to begin. */
  asked: string | null
  usage: Usage
}

/** What the tool says where it cannot take up a thread. */
const NO_THREAD = /no rollout found|thread\/resume|session metadata/i

export const resultOf = (turn: AgentTurn, ended: Ended): AgentResult => {
  const { said, memory, stop, asked, usage } = ended
  const sessionId = turn.session.mode === 'none' ? null : said.thread
  const failed = (reason: string): AgentResult => ({ kind: 'failed', error: 'AgentFailed', reason, usage })
  if (turn.signal.aborted) return { kind: 'failed', error: 'AgentCancelled', reason: 'the turn was interrupted', usage }
  if (asked !== null && said.thread !== null && said.thread !== asked)
    return { kind: 'session_lost', reason: 'it went on in another thread', usage }
  if (stop) return stopped(stop, ended)
  if (asked !== null && said.thread === null && said.broken !== null && NO_THREAD.test(said.broken))
    return { kind: 'session_lost', reason: said.broken, usage }
  if (said.broken !== null) return failed(said.broken)
  if (said.thread === null || memory.rollout === null) return failed('the tool ended without a thread')
  return { kind: 'done', output: outputOf(turn, said.answer ?? '', memory), usage, sessionId, context: memory.context }
}

const stopped = (stop: Stop, { said, memory, progressed, asked, usage }: Ended): AgentResult => {
  switch (stop.kind) {
    case 'late':
      return progressed && said.thread !== null && memory.rollout !== null
        ? { kind: 'checkpoint', usage, sessionId: said.thread, context: memory.context }
        : { kind: 'failed', error: 'AgentTimedOut', reason: 'the model did not answer before the turn ran out of time', usage }
    case 'lost':
      // A session that cannot be taken in any more is as good as gone; one that has just begun has failed.
      return asked !== null
        ? { kind: 'session_lost', reason: stop.reason, usage }
        : { kind: 'failed', error: 'AgentFailed', reason: stop.reason, usage }
    case 'limit':
      return { ...stop, usage, sessionId: said.thread }
    default:
      return { ...stop, usage }
  }
}

/** Text that is no JSON is given as it is, for the loop to see. */
const outputOf = (turn: AgentTurn, text: string, memory: Memory): unknown => {
  const answer = answerOf(jsonOf(text))
  return turn.prompt.task.kind === 'fix' ? answer : answerOfParts([answer], unreadOf(memory))
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
