/** The agent of a deployment in AWS: a tool loop over Bedrock's Converse API. No key, only IAM; no shell; the transcript is ours. */
import type { Agent, AgentResult, AgentTurn } from '../../loop/agent.ts'
import { LoopError } from '../../loop/errors.ts'
import { PROMPTS_VERSION } from '../../loop/prompts/system.ts'
import { repairPrompt, turnPrompt } from '../../loop/prompts/turn-prompt.ts'
import { openTurn } from '../session-transcript.ts'
import { Conversation } from './conversation.ts'
import { type Call, connect, type Connection } from './converse.ts'
import { EDIT_TOOLS } from '../tools/edit-tools.ts'
import { bedrockEntry } from './entries.ts'
import { Pace } from '../pace.ts'
import { READ_TOOLS } from '../tools/read-tools.ts'
import type { BedrockSettings } from './settings.ts'
import { SpentMeter } from '../spent.ts'
import { talk } from './talk.ts'

export interface BedrockOptions extends Omit<Connection, 'region'> {
  /** With less than this left before the deadline no call is begun, in ms. */
  callMs?: number
  /** ms since 1970 */
  now?: () => number
}

const CALL_MS = 60_000
const CACHE_MINUTES = { '5m': 5, '1h': 60, off: 0 } as const

/** The version names the model: what one has thought is not another's to go on with. */
export const createBedrockAgent = (settings: BedrockSettings, options: BedrockOptions = {}): Agent => {
  const { callMs = CALL_MS, now = () => Date.now(), ...connection } = options
  const call = connect({ ...connection, region: settings.region })
  const agent = { id: 'bedrock', version: `${PROMPTS_VERSION}, ${settings.model}` }
  return {
    ...agent,
    cacheMinutes: CACHE_MINUTES[settings.cache],
    capabilities: { resume: true, ownIds: true, structuredOutput: settings.strict, checkpoint: true, edits: true },
    run: (turn) => serve(turn, { agent, settings, call, pace: new Pace(turn.deadline, callMs, now) }),
  }
}

interface Served {
  agent: Pick<Agent, 'id' | 'version'>
  settings: BedrockSettings
  call: Call
  pace: Pace
}

const serve = async (turn: AgentTurn, { agent, settings, call, pace }: Served): Promise<AgentResult> => {
  const meter = new SpentMeter(settings)
  const failed = (error: 'AgentCancelled' | 'AgentFailed', reason: string): AgentResult => ({
    kind: 'failed',
    error,
    reason,
    usage: meter.usage,
  })
  if (turn.signal.aborted) return failed('AgentCancelled', 'the turn was interrupted')
  const opened = openTurn(turn, agent, bedrockEntry)
  if ('lost' in opened) return { kind: 'session_lost', reason: opened.lost, usage: meter.usage }
  const conversation = new Conversation(turn.transcript, opened.entries)
  const objection = turn.prompt.kind === 'task' && opened.entries.length === 0 ? null : conversation.objection
  if (objection !== null) return { kind: 'session_lost', reason: objection, usage: meter.usage }
  try {
    begin(turn, conversation, settings)
    const tools = turn.role === 'fixer' ? [...READ_TOOLS, ...EDIT_TOOLS] : READ_TOOLS
    return await talk({ turn, settings, conversation, tools, call, meter, pace, id: opened.id })
  } catch (error) {
    if (turn.signal.aborted) return failed('AgentCancelled', 'the turn was interrupted')
    return failed('AgentFailed', error instanceof Error ? error.message : String(error))
  }
}

/** Of the context, what one message and what a whole turn may bring in as changes; the rest is for reading around and for answers. */
const PART = 0.15
const PARTS = 4
const MOST = 0.8

const begin = ({ prompt, role, runId, turn }: AgentTurn, conversation: Conversation, settings: BedrockSettings): void => {
  const { task } = prompt
  if ((task.kind === 'fix') !== (role === 'fixer')) throw new LoopError('Unexpected', `A ${role} was given a task of kind ${task.kind}.`)
  if (prompt.kind === 'continue') return
  if (prompt.kind === 'repair') {
    conversation.begin({ turn, kind: 'repair', parts: [{ text: repairPrompt(prompt.problem, { runId, turn }), shown: {} }], skipped: [] })
    return
  }
  const part = Math.floor(settings.contextTokens * PART)
  const room = settings.contextTokens * MOST - conversation.context
  const budget = { part, parts: Math.max(1, Math.min(PARTS, Math.floor(room / part))) }
  const { parts, skipped } = turnPrompt(task, { runId, turn, budget, shown: conversation.shown })
  conversation.begin({ turn, kind: 'task', parts, skipped })
}
