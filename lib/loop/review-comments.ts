/** The comments of a review on lines of a change: findings that are open, and fixes as suggested changes. Pure. */
import type { Comparison } from './diff.ts'
import type { TrackedFinding } from './finding.ts'
import { cell, code, fenced, paragraph } from './markdown.ts'
import { lineBefore, type Span, standsIn, type Suggestion, suggestionsOf } from './placing.ts'
import type { News } from './telling.ts'

/** More than these are put together, one comment a file. */
const MOST_COMMENTS = 50
const MOST_TEXT = 60_000

export interface ReviewComment extends Span {
  body: string
}

export interface ReviewPlan {
  /** The commit whose lines the comments name. */
  commit: string
  comments: ReviewComment[]
  /** Findings on the change that have no line there to stand on. */
  unplaced: TrackedFinding[]
}

interface Part extends Span {
  lines: string[]
}

/** The branch that was reviewed holds the fixes: its people see the commit that stands. Else they see the head. */
export const isOnBranch = ({ pushed, request, commit }: News): boolean => commit === request.head || pushed?.ref === request.branch

export const findingLines = ({ id, severity, rule, text }: TrackedFinding): string[] => [
  `**${severity}**, ${cell(rule)} (${code(id)})`,
  '',
  ...paragraph(text),
]

const placed = (findings: readonly TrackedFinding[], news: News, comparison: Comparison) => {
  const before = isOnBranch(news) ? (_file: string, line: number) => line : lineBefore(comparison.fixes)
  const isOnDiff = standsIn(isOnBranch(news) ? comparison.standing : comparison.head)
  return findings.map((finding) => {
    const { file, line, endLine = line } = finding
    if (line === undefined || endLine === undefined) return { finding, span: null }
    const [start, end] = [before(file, line), before(file, endLine)]
    const whole = start === null || end === null ? null : { file, start, end }
    const first = start === null ? null : { file, start, end: start }
    return { finding, span: [whole, first].find((span) => span && isOnDiff(span)) ?? null }
  })
}

/** Fixed findings of which a suggestion is likely the fix: those of the file nearest to it. */
const fixedBy = (suggestion: Suggestion, findings: readonly TrackedFinding[]): TrackedFinding[] =>
  findings.filter(
    ({ status, file, line = 0, endLine = line }) =>
      status === 'fixed' && file === suggestion.file && line <= suggestion.end + 1 && endLine >= suggestion.start - 1,
  )

const suggestionPart = (suggestion: Suggestion, findings: readonly TrackedFinding[]): Part => {
  const fixed = fixedBy(suggestion, findings)
  const why = fixed.length ? fixed.flatMap((finding) => [...findingLines(finding), '']) : ['A fix that was made in this run.', '']
  return { ...suggestion, lines: [...why, ...fenced('suggestion', suggestion.lines)] }
}

const bodyOf = (parts: readonly Part[]): string => {
  const texts = parts.map(({ lines }) => lines.join('\n'))
  const kept: string[] = []
  let room = MOST_TEXT
  for (const text of texts) {
    room -= text.length + 8
    if (room < 0) break
    kept.push(text)
  }
  const left = texts.length - kept.length
  return [...kept, ...(left ? [`And ${left} more, in the report.`] : [])].join('\n\n---\n\n')
}

/** Over the bound, one comment a file, at its first line; a suggestion holds for the lines of its own comment alone, so there is none. */
const grouped = (parts: readonly (Part & { text: string[] })[]): ReviewComment[] =>
  [...Map.groupBy(parts, ({ file }) => file)].map(([file, own]) => {
    const start = Math.min(...own.map((part) => part.start))
    const lines = own.map((part) => ({ ...part, lines: [`Line ${part.start}:`, '', ...part.text] }))
    return { file, start, end: start, body: bodyOf(lines) }
  })

/** null where the review would have nothing to say. */
export const planReview = (news: News, comparison: Comparison): ReviewPlan | null => {
  const { findings } = news.report
  const open = placed(
    findings.filter(({ status, inDiff }) => status === 'open' && inDiff),
    news,
    comparison,
  )
  const unplaced = open.flatMap(({ finding, span }) => (span ? [] : [finding]))
  const ofFindings = open.flatMap(({ finding, span }) => {
    const lines = findingLines(finding)
    return span ? [{ ...span, lines, text: lines }] : []
  })
  const ofFixes = (isOnBranch(news) ? [] : suggestionsOf(comparison)).map((suggestion) => {
    const fixed = fixedBy(suggestion, findings)
    const text = fixed.length ? fixed.flatMap(findingLines) : ['A fix that was made in this run.']
    return { ...suggestionPart(suggestion, findings), text: [...text, '', 'Its fix is on the branch with the fixes.'] }
  })
  const parts = [...ofFindings, ...ofFixes]
  if (!parts.length && !unplaced.length) return null
  const comments =
    parts.length <= MOST_COMMENTS
      ? parts.map(({ file, start, end, lines }) => ({ file, start, end, body: lines.join('\n') }))
      : grouped(parts).slice(0, MOST_COMMENTS)
  return { commit: isOnBranch(news) ? news.commit : news.request.head, comments, unplaced }
}
