/** The tool loop: call the model, run what it asks for, until it reports or something stops the turn. */
import type { ContentBlock, ConverseCommandOutput, Tool as ToolSpec } from '@aws-sdk/client-bedrock-runtime'
import type { AgentResult, AgentTurn } from '../../loop/agent.ts'
import { SYSTEM } from '../../loop/prompts/system.ts'
import { answerOf } from '../../loop/prompts/answer-schema.ts'
import type { Conversation } from './conversation.ts'
import { type Call, type CallFailure, tokensOf } from './converse.ts'
import type { StoredBlock, ToolResult } from './entries.ts'
import { cachePoint, messagesOf, storedOf } from './messages.ts'
import type { Pace } from '../pace.ts'
import { answerTo, isAnswer, objectionTo, refusing, REPORT, REPORTED, reportDescription, reportSchema } from './report.ts'
import type { BedrockSettings } from './settings.ts'
import type { SpentMeter } from '../spent.ts'
import { runTool, type Tool } from '../tools/tool.ts'

export interface Talk {
  turn: AgentTurn
  settings: BedrockSettings
  conversation: Conversation
  tools: readonly Tool[]
  call: Call
  meter: SpentMeter
  pace: Pace
  /** The session, or what stands for one in a transcript of a turn without. */
  id: string
}

/** So many calls before the last that it may make, the model is told to come to an end. */
const LAST_CALLS = 5
/** Part of the context past which the model is told so too. */
const FULL = 0.85

const TOOLS_NOTE = 'Work with the tools. When you are done, call report; do not answer in any other way.'

/** Throws what broke in a tool. */
export const talk = async (given: Talk): Promise<AgentResult> => {
  for (;;) {
    const stopped = beforeCall(given)
    if (stopped) return stopped
    const reply = await callModel(given)
    const ended = 'kind' in reply ? failed(given, reply) : await take(given, reply)
    if (ended) return ended
  }
}

type Failed = Extract<AgentResult, { kind: 'failed' }>['error']
const failure = ({ meter }: Talk, error: Failed, reason: string): AgentResult => ({ kind: 'failed', error, reason, usage: meter.usage })
const sessionOf = ({ turn, id }: Talk): string | null => (turn.session.mode === 'none' ? null : id)

const beforeCall = (given: Talk): AgentResult | null => {
  const { turn, meter, conversation, pace } = given
  const { budget } = turn
  if (turn.signal.aborted) return failure(given, 'AgentCancelled', 'the turn was interrupted')
  // A call takes in all of the conversation.
  const enough = budget.tokens > 0 && meter.tokens + conversation.context <= budget.tokens
  const isDear = meter.knowsDollars && meter.dollars >= budget.dollars
  const limit = !enough ? 'tokens' : isDear ? 'dollars' : meter.calls >= budget.calls ? 'turn_calls' : null
  if (limit) return { kind: 'limit', limit, usage: meter.usage, sessionId: sessionOf(given) }
  return pace.isShort ? outOfTime(given) : null
}

/** What was said so far is kept; where nothing was, the turn has come to nothing. */
const outOfTime = (given: Talk): AgentResult =>
  given.pace.progressed
    ? { kind: 'checkpoint', usage: given.meter.usage, sessionId: given.id, context: given.conversation.context }
    : failure(given, 'AgentTimedOut', 'the model did not answer before the turn ran out of time')

const callModel = ({ turn, settings, conversation, tools, call, meter, pace }: Talk): ReturnType<Call> => {
  const report: ToolSpec = {
    toolSpec: {
      name: REPORT,
      description: reportDescription,
      inputSchema: { json: reportSchema(turn.prompt.task) as never },
      ...(settings.strict ? { strict: true } : {}),
    },
  }
  const specs = tools.map(({ name, description, schema }): ToolSpec => ({
    toolSpec: { name, description, inputSchema: { json: schema as never } },
  }))
  meter.call()
  return call(
    {
      modelId: settings.model,
      system: [{ text: `${SYSTEM[turn.role]}\n\n${TOOLS_NOTE}` }, ...cachePoint(settings)],
      toolConfig: { tools: [...specs, report] },
      messages: messagesOf(conversation.entries, settings),
      inferenceConfig: { maxTokens: settings.maxTokens },
      ...(settings.effort === null ? {} : { outputConfig: { effort: settings.effort } }),
    },
    { ms: pace.left, signal: turn.signal },
  )
}

const failed = (given: Talk, ended: CallFailure): AgentResult => {
  const { usage } = given.meter
  if (ended.kind === 'late') return outOfTime(given)
  if (ended.kind === 'lost') return lost(given, ended.reason)
  return { ...ended, usage }
}

/** A session that the model cannot take in any more is as good as gone; one that has just begun has failed. */
const lost = (given: Talk, reason: string): AgentResult =>
  given.turn.session.mode === 'resume' ? { kind: 'session_lost', reason, usage: given.meter.usage } : failure(given, 'AgentFailed', reason)

const CUT_OFF = ['max_tokens', 'malformed_tool_use', 'malformed_model_output']
const WITHHELD = ['guardrail_intervened', 'content_filtered', 'refusal']
const WHOLE = ['tool_use', 'end_turn', 'stop_sequence']

/** Null where the talk goes on. */
const take = async (given: Talk, reply: ConverseCommandOutput): Promise<AgentResult | null> => {
  const { meter, settings, pace } = given
  const context = meter.add(tokensOf(reply.usage))
  const stop: string = reply.stopReason ?? 'unknown'
  if (WITHHELD.includes(stop)) return { kind: 'refused', reason: `the output was withheld: ${stop}`, usage: meter.usage }
  if (stop === 'model_context_window_exceeded') return lost(given, 'the conversation has outgrown what the model can be given')
  const cutOff = stop === 'max_tokens' ? `was cut off at ${settings.maxTokens} tokens` : `was not whole: ${stop}`
  // Part of an answer is no answer: it is left out of the conversation.
  if (CUT_OFF.includes(stop)) return mishap(given, cutOff, `Your last answer ${cutOff}. Answer again: shorter, and in smaller steps.`)
  if (!WHOLE.includes(stop)) return failure(given, 'AgentFailed', `the model stopped for an unknown reason: ${stop}`)
  const content = (reply.output?.message?.content ?? []).flatMap((block: ContentBlock) => storedOf(block) ?? [])
  pace.didCall()
  if (content.length === 0) return mishap(given, 'was empty', 'Your last answer was empty. Go on.')
  given.conversation.append({ type: 'reply', content, context })
  return act(given, content)
}

/** Once a turn the model is told what went wrong and may go on; twice is a failure. */
const mishap = (given: Talk, what: string, text: string): AgentResult | null => {
  if (given.conversation.hadMishap) return failure(given, 'AgentFailed', `an answer of the model ${what}, for the second time`)
  given.conversation.append({ type: 'note', text, mishap: true })
  return null
}

const act = async (given: Talk, content: readonly StoredBlock[]): Promise<AgentResult | null> => {
  const { turn, conversation, tools } = given
  const calls = content.flatMap((block) => ('toolUse' in block ? [block.toolUse] : []))
  if (calls.length === 0) return unreported(given, content)
  turn.progress(`${turn.role}: ${calls.map(({ name }) => name).join(', ')}`)
  const reports = calls.filter(({ name }) => name === REPORT)
  const results: ToolResult[] = []
  for (const one of calls) {
    turn.signal.throwIfAborted()
    results.push(one.name === REPORT ? { id: one.id, ok: true, text: REPORTED } : await runTool(tools, one, turn))
  }
  const objection = objectionTo(results, reports.length)
  const [reported] = objection === null ? reports.map(({ input }) => ({ output: answerOf(input) })) : []
  if (reported) return report(given, reported.output, results)
  conversation.append({ type: 'results', results: refusing(results, objection ?? '') })
  comeToAnEnd(given)
  return null
}

/** The last of the parts ends the turn. An answer to one of several is checked here: the loop sees only all of them together. */
const report = (given: Talk, output: unknown, results: ToolResult[]): AgentResult | null => {
  const { turn, conversation } = given
  const { part, current } = conversation
  const isLast = part === current.entry.parts.length - 1
  const fits = isLast || isAnswer(turn.prompt.task, output)
  if (!fits && !conversation.hadMishap) {
    conversation.append({ type: 'results', results: refusing(results, 'It does not fit.') })
    return mishap(given, 'did not fit', 'The report does not fit the schema. Report this part again.')
  }
  conversation.append({ type: 'report', part, output })
  conversation.append({ type: 'results', results })
  if (isLast || !fits) return done(given, fits ? answerTo(turn.prompt.task, conversation) : output)
  conversation.append({ type: 'ask', part: part + 1 })
  return null
}

const done = (given: Talk, output: unknown): AgentResult => ({
  kind: 'done',
  output,
  usage: given.meter.usage,
  sessionId: sessionOf(given),
  context: given.conversation.context,
})

/** It stopped without a report: told once; after that what it said is its answer, for the loop to judge. */
const unreported = (given: Talk, content: readonly StoredBlock[]): AgentResult | null => {
  if (!given.conversation.hadMishap)
    return mishap(given, 'held no report', 'You have not called the tool report. Call it now with the result.')
  return done(given, content.flatMap((block) => ('text' in block ? [block.text] : [])).join('\n'))
}

const comeToAnEnd = ({ conversation, settings, meter, turn }: Talk): void => {
  const { context, current } = conversation
  const isTold = current.after.some((entry) => entry.type === 'note' && !entry.mishap)
  if (!isTold && (meter.calls >= turn.budget.calls - LAST_CALLS || context > settings.contextTokens * FULL))
    conversation.append({ type: 'note', text: 'There is no room for more. Report now, and say what you did not get to.', mishap: false })
}
