/** What people are told by mail or chat: short, without code and without anybody's words on it, and with what to do next. */
import type { Question } from './decision.ts'
import type { Deployment, NoticeKind } from './deployment.ts'
import { repositoryOf } from './deployment.ts'
import { isErrorName, ERRORS } from './errors.ts'
import { severityRank } from './findings.ts'
import type { RunItem } from './items.ts'
import type { RunRecord } from './record.ts'
import { oneLine, redact } from './redact.ts'
import { makeReport } from './report.ts'
import { asks, headline, place } from './report-words.ts'

export interface Notice {
  kind: NoticeKind
  repository: string
  /** null: it is about no run. */
  runId: string | null
  /** One line of at most 100 characters. */
  subject: string
  text: string
}

const MOST_LISTED = 10
const MOST_SUBJECT = 100

const notice = (
  kind: NoticeKind,
  { repository, runId }: Pick<Notice, 'repository' | 'runId'>,
  subject: string,
  lines: readonly string[],
): Notice => ({
  kind,
  repository,
  runId,
  subject: oneLine(redact(subject), MOST_SUBJECT),
  text: lines.map((line) => oneLine(redact(line), 500)).join('\n'),
})

const shortName = (repository: string): string => repository.split('/').filter(Boolean).slice(-2).join('/')

const whatOf = ({ runId, request }: RunItem): string[] => [
  `Repository: ${request.repository}`,
  `Branch: ${request.branch ?? '(none)'}, head ${request.head.slice(0, 12)}`,
  `Run: ${runId}`,
]

/** Where and of what kind: the code and what is said of it are for who may see the repository. */
const openIn = (record: RunRecord): string[] => {
  const open = record.findings
    .filter(({ status }) => status === 'open')
    .toSorted((a, b) => severityRank(a.severity) - severityRank(b.severity))
  const listed = open.slice(0, MOST_LISTED).map((finding) => `- ${finding.severity} ${finding.id} ${place(finding)} (${finding.rule})`)
  return open.length > MOST_LISTED ? [...listed, `- and ${open.length - MOST_LISTED} more`] : listed
}

/** A run waits for an answer. */
export const parkedNotice = (run: RunItem, record: RunRecord, question: Question): Notice =>
  notice(
    'parked',
    { repository: run.request.repository, runId: run.runId },
    `reviewloop asks: ${shortName(run.request.repository)} ${run.request.branch ?? ''}`,
    [
      asks({ ...question, reason: null }),
      ...whatOf(run),
      `Open: ${question.open}; rounds of fixing left: ${question.roundsLeft}`,
      ...openIn(record),
      `Answer by ${question.expiresAt}: on the pull request with a comment such as "/reviewloop approve", or with "reviewloop decide ${run.runId}". Without an answer the run ends with changes requested.`,
    ],
  )

/** A run that nobody watched has ended so that somebody should look: it failed, or it was one of the schedule's. Else null. */
export const endedNotice = (run: RunItem, record: RunRecord): Notice | null => {
  const { verdict, failure, request } = run
  if (verdict?.outcome !== 'failed' && run.startedBy !== 'schedule') return null
  const about = { repository: request.repository, runId: run.runId }
  const name = shortName(request.repository)
  if (verdict?.outcome !== 'failed')
    return notice('nightly', about, `reviewloop by the clock: ${name} ${request.branch ?? ''}`, [
      headline(makeReport({ run, record })),
      ...whatOf(run),
      ...openIn(record),
      ...(run.publishing ? [`Fixes: branch ${run.publishing.ref}`] : []),
      `See: reviewloop show ${run.runId}`,
    ])
  const error = failure?.error ?? 'Unexpected'
  return notice('failed', about, `reviewloop failed: ${name} ${request.branch ?? ''}`, [
    `The run failed: ${error}. ${isErrorName(error) ? ERRORS[error].meaning : ''}`,
    ...whatOf(run),
    ...(isErrorName(error) ? [`Next: ${ERRORS[error].remedy}`] : []),
    `See: reviewloop show ${run.runId}`,
  ])
}

/** A start was refused because of what was spent or is under way. `why` is the error's message. */
export const budgetNotice = (repository: string, why: string): Notice =>
  notice('budget', { repository, runId: null }, `reviewloop starts nothing: ${shortName(repository)}`, [
    `A run was refused: ${why}`,
    `Repository: ${repository}`,
    'Next: wait for the next day, end runs that wait, or raise the budget in the settings and deploy again.',
  ])

/** Whether the deployment wants people told of it. */
export const isWanted = (deployment: Deployment, { kind, repository }: Pick<Notice, 'kind' | 'repository'>): boolean =>
  (repositoryOf(deployment, repository)?.notify ?? deployment.notify).on.includes(kind)
