/** The answer: what the model gives to the tool `report`, for one part of a change or several. */
import type { Task } from '../../loop/agent.ts'
import { fixOutput, reviewOutput, type ReviewOutput, type SkippedFile } from '../../loop/output.ts'
import { answerSchema } from '../../loop/prompts/answer-schema.ts'
import type { Conversation } from './conversation.ts'

export const REPORT = 'report'

export const reportDescription =
  'Reports the result of the task. Call it once, when the work is done; nothing else that you say reaches anybody.'

export const reportSchema = (task: Task): Record<string, unknown> => answerSchema(task)

export const isAnswer = (task: Task, output: unknown): boolean => (task.kind === 'fix' ? fixOutput : reviewOutput).safeParse(output).success

/** The answer to the task. What does not fit the schema is given as it is, for the loop to see. */
export const answerTo = (task: Task, conversation: Conversation): unknown => {
  const { reports } = conversation
  if (task.kind === 'fix') return reports.at(-1)
  const answer = reports.length > 1 ? merged(reports) : reports[0]
  return withSkipped(answer, conversation.unread)
}

const merged = (reports: readonly unknown[]): unknown => {
  const parts: ReviewOutput[] = []
  for (const report of reports) {
    const parsed = reviewOutput.safeParse(report)
    if (!parsed.success) return report
    parts.push(parsed.data)
  }
  return {
    findings: parts.flatMap(({ findings }) => findings),
    accounts: [...new Map(parts.flatMap(({ accounts }) => accounts).map((account) => [account.id, account])).values()],
    skipped: parts.flatMap(({ skipped }) => skipped),
    summary: parts
      .map(({ summary }) => summary)
      .join(' ')
      .slice(0, 4000),
  }
}

/** Files that the model was not shown are skipped whatever it says. */
const withSkipped = (answer: unknown, unread: readonly SkippedFile[]): unknown => {
  const parsed = reviewOutput.safeParse(answer)
  if (!parsed.success || unread.length === 0) return answer
  const said = parsed.data.skipped.filter(({ file }) => !unread.some((other) => other.file === file))
  return { ...parsed.data, skipped: [...said, ...unread] }
}
