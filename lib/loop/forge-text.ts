/** What a forge shows of a run, as Markdown: one text a piece, the same whoever tells it. What others wrote stays text. */
import type { TrackedFinding } from './finding.ts'
import { bounded, cell, code, paragraph, table } from './markdown.ts'
import { oneLine } from './redact.ts'
import { asks, cost, fate, headline, place, tally, UNREAD_REMEDY } from './report-words.ts'
import { findingLines } from './review-comments.ts'
import { takeFixes } from './take-fixes.ts'
import type { News } from './telling.ts'

/** A comment of GitHub holds 65,536 characters, and so does the summary of a check. */
const MOST_TEXT = 60_000
const MOST_ROWS = 100
const MOST_DETAILS = 50
const MOST_SKIPPED = 50

const short = (commit: string): string => code(commit.slice(0, 10))

/** What a person may write in a comment while a run waits. */
const ANSWERS = [
  '- `/reviewloop approve`: as it stands, with what is open',
  '- `/reviewloop fix`: all that is open; or some of it by id: `/reviewloop fix f-…`. Lines after it are for the fixer.',
  '- `/reviewloop skip`: end with changes requested',
  '- `/reviewloop abort`: end it',
  '',
  'A line `decline f-…: why` after the first takes a finding out.',
]

/** One line, without markup: a check's title. */
export const titleOf = ({ phase, report }: News): string => {
  if (phase === 'queued') return 'Queued'
  if (phase === 'running') return 'Running'
  return oneLine(headline(report), 200)
}

const factLines = ({ report, commit, pushed, request }: News): string[] => {
  const { certificates, error } = report
  const certificate = certificates.at(-1)
  return [
    `- Change: ${code(`${request.base.slice(0, 10)}..${request.head.slice(0, 10)}`)}${request.branch === null ? '' : ` of ${code(request.branch)}`}`,
    `- Findings: ${tally(report)}`,
    `- Rounds of fixing: ${report.rounds}; turns: ${report.turns.length}; ${cell(cost(report))}`,
    ...(commit === request.head
      ? []
      : [`- Fixes: ${report.commits.length} commit(s), up to ${short(commit)}${pushed ? `, on branch ${code(pushed.ref)}` : ''}`]),
    ...(certificate ? [`- Certified: ${short(certificate.commit)} by ${cell(`${certificate.agent} ${certificate.agentVersion}`)}`] : []),
    ...(error ? [`- Error: ${code(error.name)}: ${cell(error.message)}`, `- ${cell(error.remedy)}`] : []),
    ...(commit !== request.head && !pushed && report.outcome !== null
      ? ['- Nothing was published; the fixes are in the patch of the report.']
      : []),
  ]
}

const standing = ({ report }: News): TrackedFinding[] => report.findings.filter(({ status }) => status === 'open' || status === 'declined')

const section = (title: string, lines: readonly string[]): string[] => (lines.length ? ['', `#### ${title}`, '', ...lines] : [])

const rowOf = (finding: TrackedFinding): string[] => [
  code(finding.id),
  finding.severity,
  code(place(finding)),
  cell(finding.rule, 80),
  cell(fate(finding), 120),
]

const more = (all: readonly unknown[], most: number): string[] =>
  all.length > most ? ['', `And ${all.length - most} more, in the report.`] : []

/** All that stands, and in full what no line of the change can be told of. */
const findingSections = (news: News): string[] => {
  const all = standing(news)
  const elsewhere = all.filter(({ inDiff, status }) => !inDiff && status === 'open')
  return [
    ...section(
      'Open',
      all.length
        ? [...table(['Id', 'Severity', 'Where', 'Rule', 'Status'], all.slice(0, MOST_ROWS).map(rowOf)), ...more(all, MOST_ROWS)]
        : [],
    ),
    ...section('Not on a line of the change', [
      ...elsewhere.slice(0, MOST_DETAILS).flatMap((finding) => [code(place(finding)), '', ...findingLines(finding), '']),
      ...more(elsewhere, MOST_DETAILS),
    ]),
  ]
}

const skippedSection = ({ report: { skipped } }: News): string[] =>
  section(
    'Not looked at',
    skipped.length
      ? [
          ...skipped.slice(0, MOST_SKIPPED).map(({ file, reason }) => `- ${code(file)}: ${cell(reason)}`),
          ...more(skipped, MOST_SKIPPED),
          '',
          cell(UNREAD_REMEDY, 500),
        ]
      : [],
  )

const takingSection = (news: News): string[] => {
  const commands = takeFixes(news.report)
  return section('Taking the fixes', commands.length ? commands.map((line) => `    ${line}`) : [])
}

const footer = ({ runId }: News): string[] => ['', `<sub>Run ${code(runId)}</sub>`]

/** The summary of a check. `note` stands first. */
export const checkSummary = (news: News, note: string | null): string =>
  bounded(
    [...(note === null ? [] : [note, '']), ...factLines(news), ...findingSections(news), ...skippedSection(news), ...footer(news)],
    MOST_TEXT,
  )

/** The one comment on a pull request that says how its latest run stands; `fixes`: the pull request with the fixes. */
export const summaryComment = (news: News, fixes: string | null): string =>
  bounded(
    [
      `### reviewloop: ${cell(headline(news.report))}`,
      '',
      ...factLines(news),
      ...(fixes === null ? [] : [`- Pull request with the fixes: ${fixes}`]),
      ...findingSections(news),
      ...skippedSection(news),
      ...(news.report.notices.length
        ? section(
            'Notices',
            news.report.notices.map((notice) => `- ${cell(notice)}`),
          )
        : []),
      ...takingSection(news),
      ...footer(news),
    ],
    MOST_TEXT,
  )

/** What a parked run asks, and once it is answered, what was answered. null where nothing is asked. */
export const questionComment = (news: News): string | null => {
  const { question, decision } = news
  if (!question) return null
  const { answer, by } = decision ?? {}
  const state = decision
    ? [`Answered: ${cell(answer?.kind ?? '')}${by ? ` by ${cell(by, 100)}` : ''}.`]
    : [
        `${question.open} open, ${question.roundsLeft} round(s) of fixing left. Without an answer until ${question.expiresAt} the run ends with changes requested.`,
        '',
        'People with write access answer in a comment:',
        '',
        ...ANSWERS,
      ]
  return bounded(
    ['### reviewloop asks', '', ...paragraph(asks(question)), '', ...state, ...(decision ? [] : findingSections(news)), ...footer(news)],
    MOST_TEXT,
  )
}

/** Body of a review, beside its comments on lines: what has no line to stand on, in full. */
export const reviewBody = (news: News, unplaced: readonly TrackedFinding[], onLines: number): string =>
  bounded(
    [
      `${cell(headline(news.report))}. ${onLines} comment(s) on lines of the change.`,
      ...section(
        'Without a line in this commit',
        unplaced.flatMap((finding) => [code(place(finding)), '', ...findingLines(finding), '']),
      ),
      ...footer(news),
    ],
    MOST_TEXT,
  )

/** Title and body of the pull request with the fixes. */
export const fixesPullRequest = (news: News): { title: string; body: string } => {
  const { branch } = news.request
  const named = branch !== null && /^[\w./-]{1,100}$/.test(branch) ? ` for ${branch}` : ''
  const body = bounded(
    [
      `Fixes of a review of ${branch === null ? short(news.request.head) : code(branch)}: ${cell(headline(news.report))}.`,
      '',
      ...factLines(news),
      ...section(
        'Fixed',
        news.report.findings
          .filter(({ status }) => status === 'fixed')
          .slice(0, MOST_ROWS)
          .map((finding) => `- ${code(place(finding))}: ${cell(finding.text, 200)} (${cell(finding.rule, 80)})`),
      ),
      ...findingSections(news),
      ...footer(news),
    ],
    MOST_TEXT,
  )
  return { title: `reviewloop: fixes${named}`, body }
}
