/** The report as Markdown, for a comment or a page. What others wrote cannot become markup. */
import type { TrackedFinding } from './finding.ts'
import { cell, code, paragraph, table } from './markdown.ts'
import { asks, cost, fate, headline, place, seconds, step, tally, UNREAD_REMEDY } from './report-words.ts'
import type { Report } from './report.ts'
import { takeFixes } from './take-fixes.ts'

const MOST_FINDINGS = 500

const section = (title: string, lines: readonly string[]): string[] => (lines.length ? ['', `## ${title}`, '', ...lines] : [])
const bullets = (entries: readonly string[]): string[] => entries.map((entry) => `- ${cell(entry)}`)

export const renderMarkdown = (report: Report): string => {
  const { request, error, question, turns, findings, commits, certificates, decisions, fixes, status } = report
  const certificate = certificates.at(-1)
  // a block of its own, in which nothing is markup: a code span would alter what people paste
  const commands = takeFixes(report)
  const shown = findings.slice(0, MOST_FINDINGS)
  const more = findings.length - shown.length
  const lines = [
    `# ${cell(headline(report))}`,
    '',
    `- Run: ${code(report.run)}`,
    `- Change: ${code(request.repository)} ${request.branch === null ? '' : `${code(request.branch)} `}${code(`${request.base.slice(0, 10)}..${request.head.slice(0, 10)}`)}`,
    `- Rounds of fixing: ${report.rounds}; turns: ${turns.length}; ${cell(cost(report))}`,
    `- Findings: ${tally(report)}`,
    ...(certificate ? [`- Certified: ${code(certificate.commit)} by ${cell(`${certificate.agent} ${certificate.agentVersion}`)}`] : []),
    ...section('Error', error ? [`${code(error.name)}: ${cell(error.message)}`, '', cell(error.remedy)] : []),
    ...section(
      'Question',
      question && status !== 'ended'
        ? [cell(asks(question)), '', `${question.open} open, ${question.roundsLeft} round(s) left, until ${question.expiresAt}.`]
        : [],
    ),
    ...section('Findings', [
      ...(shown.length ? table(['Id', 'Severity', 'Where', 'Rule', 'Status'], shown.map(findingRow)) : []),
      ...(more > 0 ? ['', `And ${more} more, in the JSON report.`] : []),
      ...shown.flatMap(details),
    ]),
    ...section(
      'Turns',
      turns.length
        ? table(['Turn', 'Round', 'Role', 'Mode', 'Why', 'Agent', 'Session', 'Raised', 'Fixed', 'Open', 'Time'], turns.map(turnRow))
        : [],
    ),
    ...section(
      'Fix commits',
      commits.map(
        ({ id, message, outside }) =>
          `- ${code(id.slice(0, 10))} ${cell(message.split('\n')[0] ?? '')}${outside.length ? `; files that no finding named: ${outside.map(code).join(', ')}` : ''}`,
      ),
    ),
    ...section('Decisions', bullets(decisions.map(({ answer, by, at }) => `${answer.kind}${by === null ? '' : ` by ${by}`}, ${at}`))),
    ...section(
      'Not looked at',
      report.skipped.length ? [...bullets(report.skipped.map(({ file, reason }) => `${file}: ${reason}`)), '', cell(UNREAD_REMEDY)] : [],
    ),
    ...section('Notices', bullets(report.notices)),
    ...section(
      'Taking the fixes',
      fixes
        ? [
            ...(fixes.branch === null ? [] : [`- branch: ${code(fixes.branch)}`]),
            ...(fixes.patch === null ? [] : [`- patch: ${code(fixes.patch)}`]),
            ...(commands.length ? ['', 'With git:', '', ...commands.map((line) => `    ${line}`)] : []),
          ]
        : [],
    ),
  ]
  return `${lines.join('\n')}\n`
}

const findingRow = (finding: TrackedFinding): string[] => [
  code(finding.id),
  finding.severity,
  code(place(finding)),
  cell(finding.rule),
  cell(fate(finding)),
]

const details = ({ id, text, history }: TrackedFinding): string[] => [
  '',
  `<details><summary>${id}</summary>`,
  '',
  ...paragraph(text),
  '',
  ...bullets(history.map(step)),
  '',
  '</details>',
]

const turnRow = (turn: Report['turns'][number]): string[] => [
  String(turn.turn),
  String(turn.round),
  turn.role,
  turn.mode,
  cell(turn.why),
  cell(`${turn.agent} ${turn.agentVersion}`),
  turn.fingerprint === null ? '' : code(turn.fingerprint),
  String(turn.raised),
  String(turn.fixed),
  String(turn.open),
  seconds(turn),
]
