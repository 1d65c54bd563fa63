/**
 * The Claude Agent SDK as an agent, through Anthropic's own API or Bedrock. Its command-line tool gets none of its built-in tools: it
 * reads and edits through ours, in this process. Its transcript is kept in the turn's.
 */
import type { Agent, AgentResult, AgentTurn } from '../../loop/agent.ts'
import { LoopError } from '../../loop/errors.ts'
import { repairPrompt, turnPrompt } from '../../loop/prompts/turn-prompt.ts'
import { PROMPTS_VERSION } from '../../loop/prompts/system.ts'
import { Pace } from '../pace.ts'
import { openTurn } from '../session-transcript.ts'
import { Conversation } from './conversation.ts'
import { claudeEntry } from './entries.ts'
import type { ClaudeSdk } from './sdk.ts'
import { SDK_VERSION } from './sdk.ts'
import type { ClaudeSettings } from './settings.ts'
import { Spent } from './spent.ts'
import type { Served } from './call.ts'
import { talk } from './talk.ts'

export interface ClaudeOptions {
  key: () => Promise<string>
  /** With less than this left before the deadline no call is begun, in ms. */
  callMs?: number
  retries?: number
  /** ms since 1970 */
  now?: () => number
}

export const CLAUDE = {
  id: 'claude',
  capabilities: { resume: true, ownIds: true, structuredOutput: true, checkpoint: true, edits: true },
} as const

const CALL_MS = 60_000
const RETRIES = 3
/** How long the provider keeps what the tool marks to be kept. */
const CACHE_MINUTES = 5

export const createClaudeAgent = (settings: ClaudeSettings, sdk: ClaudeSdk, options: ClaudeOptions): Agent => {
  const { key, callMs = CALL_MS, retries = RETRIES, now = () => Date.now() } = options
  const agent = { id: CLAUDE.id, version: `${PROMPTS_VERSION}, ${settings.model}, SDK ${SDK_VERSION}` }
  return {
    ...agent,
    capabilities: CLAUDE.capabilities,
    cacheMinutes: CACHE_MINUTES,
    run: (turn) => serve(turn, { agent, settings, sdk, key, retries, pace: new Pace(turn.deadline, callMs, now) }),
  }
}

const serve = async (turn: AgentTurn, served: Served): Promise<AgentResult> => {
  const opened = openTurn(turn, served.agent, claudeEntry)
  const conversation = new Conversation(turn.transcript, 'lost' in opened ? [] : opened.entries)
  const spent = new Spent(conversation.before)
  const failed = (error: 'AgentCancelled' | 'AgentFailed', reason: string): AgentResult => ({
    kind: 'failed',
    error,
    reason,
    usage: spent.usage,
  })
  if (turn.signal.aborted) return failed('AgentCancelled', 'the turn was interrupted')
  if ('lost' in opened) return { kind: 'session_lost', reason: opened.lost, usage: spent.usage }
  const { stopped } = conversation
  if (turn.prompt.kind === 'continue' && stopped === null)
    return { kind: 'session_lost', reason: 'the transcript has no place to go on from', usage: spent.usage }
  try {
    const prompt = begin(turn, conversation, served.settings, spent.context)
    return await talk({ ...served, turn, conversation, spent, id: opened.id, prompt, stopped: prompt === null ? stopped : null })
  } catch (error) {
    if (turn.signal.aborted) return failed('AgentCancelled', 'the turn was interrupted')
    return failed('AgentFailed', error instanceof Error ? error.message : String(error))
  }
}

/** Of the context, what the one message of a turn may bring in as changes; the rest is for reading around and for answers. */
const PART = 0.4
const MOST = 0.8

/** What to say; null where the conversation goes on without a new prompt. */
const begin = (
  { prompt, role, runId, turn }: AgentTurn,
  conversation: Conversation,
  settings: ClaudeSettings,
  context: number,
): string | null => {
  const { task } = prompt
  if ((task.kind === 'fix') !== (role === 'fixer')) throw new LoopError('Unexpected', `A ${role} was given a task of kind ${task.kind}.`)
  if (prompt.kind === 'continue') return null
  if (prompt.kind === 'repair') {
    conversation.begin({ turn, kind: 'repair', shown: {}, skipped: [] })
    return repairPrompt(prompt.problem, { runId, turn })
  }
  const part = Math.max(1, Math.floor(Math.min(settings.contextTokens * PART, settings.contextTokens * MOST - context)))
  const { parts, skipped } = turnPrompt(task, { runId, turn, budget: { part, parts: 1 }, shown: conversation.shown })
  const [first] = parts
  conversation.begin({ turn, kind: 'task', shown: { ...first?.shown }, skipped })
  return first?.text ?? ''
}
