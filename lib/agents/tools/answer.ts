/** One answer to a task that was given in several parts, each with a report of its own. */
import { reviewOutput, type ReviewOutput, type SkippedFile } from '../../loop/output.ts'

/** The answer to a look that the reports of its parts come to. What does not fit the schema is given as it is, for the loop to see. */
export const answerOfParts = (reports: readonly unknown[], unread: readonly SkippedFile[]): unknown =>
  withSkipped(reports.length > 1 ? merged(reports) : reports[0], unread)

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
