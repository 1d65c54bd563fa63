/** The agent `codex`: OpenAI's command-line agent through its SDK, with our file tools in the place of its own. It has neither shell nor key. */
import type { Agent, AgentResult, AgentTurn } from '../../loop/agent.ts'
import { PROMPTS_VERSION } from '../../loop/prompts/system.ts'
import { Pace } from '../pace.ts'
import { SpentMeter } from '../spent.ts'
import { EDIT_TOOLS } from '../tools/edit-tools.ts'
import { READ_TOOLS } from '../tools/read-tools.ts'
import { inputOf, type Opened, resultOf } from './answer.ts'
import { commandOptions, openHome, readRollout, threadOptions } from './command.ts'
import { keep, remember } from './entries.ts'
import { openGate } from './gate.ts'
import { provider, type Provider } from './provider.ts'
import type { CodexSdk } from './sdk.ts'
import type { CodexSettings } from './settings.ts'
import { converse } from './thread.ts'

export interface CodexOptions {
  sdk: CodexSdk
  /** Of the SDK, and with it of the command-line tool. */
  version: string
  key: () => Promise<string>
  /** Tries of one call in all. */
  attempts?: number
  /** With less than this left before the deadline no call is begun, in ms. */
  callMs?: number
  /** ms since 1970 */
  now?: () => number
}

const CALL_MS = 60_000

/** The version names tool and model: what one has thought is not another's to go on with. */
export const createCodexAgent = (settings: CodexSettings, options: CodexOptions): Agent => {
  const { sdk, version, key, attempts = 4, callMs = CALL_MS, now = () => Date.now() } = options
  const agent = { id: 'codex', version: `${PROMPTS_VERSION}, codex ${version}, ${settings.model}` }
  const parts = { agent, settings, sdk, provider: provider({ baseUrl: settings.baseUrl, key, attempts }) }
  return {
    ...agent,
    capabilities: { resume: true, ownIds: false, structuredOutput: true, checkpoint: true, edits: true },
    run: (turn) => serve(turn, { ...parts, pace: new Pace(turn.deadline, callMs, now) }),
  }
}

interface Parts {
  agent: Pick<Agent, 'id' | 'version'>
  settings: CodexSettings
  sdk: CodexSdk
  provider: Provider
  pace: Pace
}

const serve = async (turn: AgentTurn, parts: Parts): Promise<AgentResult> => {
  const meter = new SpentMeter(parts.settings)
  const memory = remember(turn, parts.agent)
  if (turn.signal.aborted) return { kind: 'failed', error: 'AgentCancelled', reason: 'the turn was interrupted', usage: meter.usage }
  if ('lost' in memory) return { kind: 'session_lost', reason: memory.lost, usage: meter.usage }
  try {
    return await hold(turn, parts, { ...inputOf(turn, memory, parts.settings), meter })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    return { kind: 'failed', error: turn.signal.aborted ? 'AgentCancelled' : 'AgentFailed', reason, usage: meter.usage }
  }
}

const hold = async (turn: AgentTurn, parts: Parts, opened: Opened): Promise<AgentResult> => {
  const { agent, settings, sdk, provider: ask, pace } = parts
  const { memory, input, meter } = opened
  await using home = await openHome(turn.role, settings, memory.rollout)
  await using gate = await openGate({
    turn,
    thread: memory.thread,
    tools: turn.role === 'fixer' ? [...READ_TOOLS, ...EDIT_TOOLS] : READ_TOOLS,
    provider: ask,
    meter,
    pace,
    context: memory.context,
    contextTokens: settings.contextTokens,
    isKept: async (item) => (await readRollout(home, memory.thread ?? ''))?.lines.some((line) => line.includes(item)) ?? false,
  })
  const codex = new sdk.Codex(commandOptions(home, gate))
  const thread =
    memory.thread === null
      ? codex.startThread(threadOptions(home, settings))
      : codex.resumeThread(memory.thread, threadOptions(home, settings))
  const said = await converse(thread, {
    input,
    task: turn.prompt.task,
    asked: memory.thread,
    signal: AbortSignal.any([turn.signal, gate.signal]),
  })
  const rollout = said.thread === null ? null : await readRollout(home, said.thread)
  const after = { ...memory, thread: said.thread, rollout, context: gate.context }
  keep(turn, agent, after)
  return resultOf(turn, { said, memory: after, stop: gate.stop, progressed: pace.progressed, asked: memory.thread, usage: meter.usage })
}
