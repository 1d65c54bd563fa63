/** The answer: what the model gives to the tool `report`, for one part of a change or several. */
import type { Task } from '../../loop/agent.ts'
import { fixOutput, reviewOutput } from '../../loop/output.ts'
import { answerSchema } from '../../loop/prompts/answer-schema.ts'
import { answerOfParts } from '../tools/answer.ts'
import type { Conversation } from './conversation.ts'
import type { ToolResult } from './entries.ts'

export const REPORT = 'report'

export const reportDescription =
  'Reports the result of the task. Call it once, when the work is done; nothing else that you say reaches anybody.'

export const reportSchema = (task: Task): Record<string, unknown> => answerSchema(task)

export const isAnswer = (task: Task, output: unknown): boolean => (task.kind === 'fix' ? fixOutput : reviewOutput).safeParse(output).success

/** The answer to the task. What does not fit the schema is given as it is, for the loop to see. */
export const answerTo = (task: Task, conversation: Conversation): unknown =>
  task.kind === 'fix' ? conversation.reports.at(-1) : answerOfParts(conversation.reports, conversation.unread)

/** Result of a report that is taken. */
export const REPORTED = 'Reported.'
export const refusing = (results: readonly ToolResult[], why: string): ToolResult[] =>
  results.map((one) => (one.text === REPORTED ? { ...one, ok: false, text: why } : one))

/** Success and failure at once, or two answers at once, are no answer: the model looks at what came of its calls, and reports anew. */
export const objectionTo = (results: readonly ToolResult[], reports: number): string | null => {
  if (reports > 1) return 'Not taken: there were several reports at once. Report once, with everything in it.'
  if (reports === 1 && results.some(({ ok }) => !ok))
    return 'Not taken: another call of the same answer failed. Look at what it says, and report when the work is done.'
  return null
}
