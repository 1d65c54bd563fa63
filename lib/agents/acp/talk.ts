/** The conversation of a turn: one message after the other, each answered by a report or by text, until all were or something stops it. */
import { setTimeout as wait } from 'node:timers/promises'
import { methods, type PromptResponse, type SessionUpdate } from '@agentclientprotocol/sdk'
import type { AgentTurn } from '../../loop/agent.ts'
import { answerIn } from '../../loop/answer-text.ts'
import { fixOutput, reviewOutput } from '../../loop/output.ts'
import { answerOf } from '../../loop/prompts/answer-schema.ts'
import { answerOfParts } from '../tools/answer.ts'
import type { AgentProcess } from './agent-process.ts'
import type { Course } from './course.ts'
import { type Failure, failureOfPrompt, saidBy } from './failure.ts'
import { GO_ON, introduction } from './prompts.ts'
import type { AcpSpent } from './spent.ts'
import type { Cap, Stop, Stops } from './stops.ts'

export type Outcome =
  | { kind: 'done'; output: unknown }
  | { kind: 'checkpoint' }
  | { kind: 'limit'; limit: Cap }
  | Failure
  | { kind: 'failed'; error: 'AgentCancelled'; reason: string }

/** What was heard of the agent during a turn. */
export class Hearing {
  /** What it reported to the message that it is answering. */
  reported: { output: unknown } | null = null
  /** What it said since it last used a tool. */
  text = ''
  /** It did something that is worth going on from. */
  progressed = false
  /** Ids under which it was heard. */
  readonly ids = new Set<string>()

  begin(): void {
    this.reported = null
    this.text = ''
  }

  hear(id: string, update: SessionUpdate, spent: AcpSpent): void {
    if (update.sessionUpdate === 'usage_update') spent.update(update)
    if (update.sessionUpdate === 'agent_message_chunk') {
      this.ids.add(id)
      spent.message(update)
      if (update.content.type === 'text') this.text += update.content.text
      this.progressed ||= this.text !== ''
    } else if (update.sessionUpdate === 'tool_call') {
      this.ids.add(id)
      this.text = ''
    } else if (update.sessionUpdate === 'tool_call_update' && update.status === 'completed') this.progressed = true
  }
}

export interface Talk {
  turn: AgentTurn
  course: Course
  process: Pick<AgentProcess, 'agent' | 'ended' | 'causeOf'>
  sessionId: string
  /** The session is one that was there before. */
  isResumed: boolean
  /** It can be gone on with after a break. */
  canGoOn: boolean
  hearing: Hearing
  spent: AcpSpent
  stops: Stops
}

export const talk = async (given: Talk): Promise<Outcome> => {
  const { course, hearing, stops, turn } = given
  const { entry } = course.current
  for (let isFirst = true; ; isFirst = false) {
    const pending = course.pending
    const part = pending ?? course.next
    const message = entry.parts[part]
    if (!message) return { kind: 'done', output: answerTo(turn, course) }
    if (pending === null) course.add({ type: 'ask', part })
    hearing.begin()
    const text = pending === null ? message.text : GO_ON
    const answered = await ask(given, isFirst && !given.isResumed ? `${introduction(turn)}\n\n${text}` : text)
    if ('kind' in answered) return answered
    const ended = take(given, answered.response, part)
    if (ended) return ended
    const isLast = part === entry.parts.length - 1
    const output = course.reports.at(-1)
    // The loop sees only all answers together, and asks for a repair of all.
    if (!isLast && !isAnswer(turn, output)) return { kind: 'done', output }
    stops.look()
    const stop = stops.happened()
    if (!isLast && stop) return stopped(given, stop)
  }
}

const isAnswer = ({ prompt }: AgentTurn, output: unknown): boolean =>
  (prompt.task.kind === 'fix' ? fixOutput : reviewOutput).safeParse(output).success

const answerTo = ({ prompt }: AgentTurn, course: Course): unknown =>
  prompt.task.kind === 'fix' ? course.reports.at(-1) : answerOfParts(course.reports, course.unread)

/** Gives a message and waits for the end of the answer. */
const ask = async (given: Talk, text: string): Promise<{ response: PromptResponse } | Outcome> => {
  const { process, sessionId, spent, stops, hearing } = given
  const { agent, ended, causeOf } = process
  const before = stops.happened()
  if (before) return stopped(given, before)
  spent.prompt()
  const answer = agent.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] }).then(
    (response) => ({ response }),
    (error: unknown) => ({ error }),
  )
  const died = ended.catch((error: unknown) => ({ error }))
  const stop = stops.first.then((first) => ({ stop: first }))
  const first = await Promise.race([answer, died, stop])
  if ('response' in first) {
    spent.answer(first.response)
    const since = stops.happened()
    return since?.kind === 'broken' ? stopped(given, since) : first
  }
  if ('error' in first) return failureOfPrompt(await causeOf(first.error), given.isResumed)
  if (first.stop.kind === 'broken' || first.stop.kind === 'cancelled') return stopped(given, first.stop)
  await agent.notify(methods.agent.session.cancel, { sessionId }).catch(() => undefined)
  const late = await Promise.race([answer, died, wait(stops.margin / 2, null)])
  if (late && 'response' in late) {
    spent.answer(late.response)
    if (late.response.stopReason === 'end_turn' || hearing.reported) return { response: { ...late.response, stopReason: 'end_turn' } }
    return stopped(given, first.stop)
  }
  return first.stop.kind === 'limit'
    ? stopped(given, first.stop)
    : { kind: 'failed', error: 'AgentTimedOut', reason: 'it did not stop when its time was over' }
}

const stopped = ({ canGoOn, hearing }: Talk, stop: Stop): Outcome => {
  if (stop.kind === 'limit') return stop
  if (stop.kind === 'cancelled') return { kind: 'failed', error: 'AgentCancelled', reason: 'the turn was interrupted' }
  if (stop.kind === 'broken') return { kind: 'failed', error: 'AgentFailed', reason: saidBy(stop.error) }
  if (canGoOn && hearing.progressed) return { kind: 'checkpoint' }
  return { kind: 'failed', error: 'AgentTimedOut', reason: 'it did not answer before the turn ran out of time' }
}

/** Stands for an answer that has no end, so that the loop asks for it again. */
const CUT_OFF = 'the answer was cut off'

const textAnswer = (text: string): unknown => {
  const answer = answerIn(text)
  return answer === null ? text : answerOf(answer)
}

/** Enters the answer; not null where the turn ends with it. */
const take = ({ course, hearing }: Talk, { stopReason }: PromptResponse, part: number): Outcome | null => {
  if (stopReason === 'refusal') return { kind: 'refused', reason: 'it refused to go on' }
  if (stopReason === 'max_turn_requests')
    return { kind: 'failed', error: 'AgentFailed', reason: 'it ended for its own limit of requests in a turn' }
  if (stopReason === 'cancelled') return { kind: 'failed', error: 'AgentFailed', reason: 'it called off its own turn' }
  const { reported, text } = hearing
  const output = stopReason === 'max_tokens' ? CUT_OFF : reported ? reported.output : textAnswer(text)
  course.add({ type: 'report', part, output })
  return null
}
