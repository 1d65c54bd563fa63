/** The report for a terminal: plain lines of at most 100 columns; colour is the caller's to add. */
import type { TrackedFinding } from './finding.ts'
import { NOT_REVIEWED } from './finding-policy.ts'
import { oneLine, printable } from './redact.ts'
import { asks, cost, fate, headline, place, seconds, step, tally, UNREAD_REMEDY } from './report-words.ts'
import type { Report } from './report.ts'
import { takeFixes } from './take-fixes.ts'

export type Style = 'good' | 'bad' | 'warn' | 'dim' | 'bold'
/** Wraps a text in a style; must not change how wide it is. */
export type Paint = (style: Style, text: string) => string

const WIDTH = 100
/** Findings and files of a kind that a terminal is shown; the report has them all. */
const MOST_SHOWN = 40
const STYLE_OF = { error: 'bad', warning: 'warn', info: 'dim' } as const

/** Words of a text in lines of at most `WIDTH` columns, each indented; a word that is longer is broken. */
const wrap = (text: string, indent: string): string[] =>
  printable(text)
    .split('\n')
    .flatMap((paragraph) => {
      const room = WIDTH - indent.length
      const lines: string[] = []
      let line = ''
      for (let word of paragraph.split(/\s+/).filter(Boolean)) {
        if (line && line.length + 1 + word.length > room) {
          lines.push(line)
          line = ''
        }
        for (; word.length > room; word = word.slice(room)) lines.push(word.slice(0, room))
        line = line ? `${line} ${word}` : word
      }
      return [...lines, ...(line ? [line] : [])]
    })
    .map((line) => indent + line)

/** `history`: each finding with what happened to it. */
export const renderText = (
  report: Report,
  { paint = (_style, text) => text, history = false }: { paint?: Paint; history?: boolean } = {},
): string => {
  const { outcome, error, request, rounds, certificates, question, status } = report
  const title = (text: string) => ['', paint('bold', text)]
  const style = outcome === 'approved' ? 'good' : outcome === 'failed' ? 'bad' : 'warn'
  const certificate = certificates.at(-1)
  const lines = [
    ...wrap(headline(report), '').map((line) => paint(style, line)),
    ...wrap(`Run ${report.run}: ${request.repository}, ${request.branch ?? 'no branch'}`, ''),
    ...wrap(
      `${request.base.slice(0, 10)}..${request.head.slice(0, 10)}, ${rounds} round(s) of fixing, ${report.turns.length} turn(s); ${cost(report)}`,
      '',
    ),
    ...(certificate ? wrap(`Certified: ${certificate.commit.slice(0, 10)} by ${certificate.agent} ${certificate.agentVersion}`, '') : []),
    ...(error ? [...title(`Error: ${oneLine(error.name, 80)}`), ...wrap(error.message, '  '), ...wrap(error.remedy, '  ')] : []),
    ...(question && status !== 'ended'
      ? [
          ...title('Question'),
          ...wrap(asks(question), '  '),
          ...wrap(`${question.open} open, ${question.roundsLeft} round(s) left; until ${question.expiresAt}`, '  '),
        ]
      : []),
    ...turnLines(report, title, paint),
    ...findingLines(report, title, paint, history),
    ...unreadLines(report, title, history),
    ...list(
      title,
      'Also changed by the fixer',
      report.commits.flatMap(({ id, outside }) => outside.map((file) => `${file} (${id.slice(0, 10)})`)),
    ),
    ...list(
      title,
      'Decisions',
      report.decisions.map(({ answer, by, at }) => `${answer.kind}${by === null ? '' : ` by ${by}`} at ${at}`),
    ),
    ...list(title, 'Notices', report.notices),
    ...fixLines(report, title),
  ]
  return `${lines.join('\n')}\n`
}

type Title = (text: string) => string[]

const list = (title: Title, heading: string, entries: readonly string[]): string[] =>
  entries.length ? [...title(heading), ...entries.flatMap((entry) => wrap(entry, '  '))] : []

const turnLines = ({ turns }: Report, title: Title, paint: Paint): string[] => {
  if (!turns.length) return []
  const rows = turns.map((turn) => {
    const who = `${turn.turn}`.padStart(4) + `  round ${turn.round}  ${turn.role.padEnd(9)}  ${turn.mode.padEnd(9)}`
    const what = `${turn.raised} raised, ${turn.fixed} fixed, ${turn.open} open${turn.ended === 'done' ? '' : `, ${turn.limit === null ? turn.ended : `limits.${turn.limit} reached`}`}`
    return [
      `${who}  ${what}  ${paint('dim', seconds(turn))}`,
      ...wrap(`${turn.fingerprint ? `session ${turn.fingerprint}: ` : ''}${turn.why}`, '      ').map((line) => paint('dim', line)),
    ]
  })
  return [...title('Turns'), ...rows.flat()]
}

const ORDER = { open: 0, declined: 1, fixed: 2, withdrawn: 3 } as const

const findingLines = (report: Report, title: Title, paint: Paint, history: boolean): string[] => {
  if (!report.findings.length) return []
  // What nobody looked at has a list of its own.
  const shown = report.findings.filter(({ rule }) => rule !== NOT_REVIEWED).toSorted((a, b) => ORDER[a.status] - ORDER[b.status])
  const isOpen = ({ status }: TrackedFinding) => status === 'open'
  const groups = [shown.filter(isOpen), shown.filter((finding) => !isOpen(finding))]
  const lines = groups.flatMap((group) => [
    ...group.slice(0, history ? undefined : MOST_SHOWN).flatMap((finding) => findingLine(finding, paint, history)),
    ...(history || group.length <= MOST_SHOWN ? [] : [`  and ${group.length - MOST_SHOWN} more, in the report`]),
  ])
  return [...title(`Findings: ${tally(report)}`), ...lines]
}

/** Files that no reviewer read, with the ids of the findings that stand for them, and what a team can do about them. */
const unreadLines = ({ findings, skipped }: Report, title: Title, history: boolean): string[] => {
  const idOf = new Map(
    findings.flatMap(({ rule, file, id, status }) => (rule === NOT_REVIEWED && status === 'open' ? [[file, id] as const] : [])),
  )
  const most = history ? skipped.length : MOST_SHOWN
  const entries = skipped.slice(0, most).map(({ file, reason }) => `${idOf.has(file) ? `${idOf.get(file)} ` : ''}${file}: ${reason}`)
  const more = skipped.length > most ? [`and ${skipped.length - most} more, in the report`] : []
  const blocks = findings.some(({ rule, status, severity }) => rule === NOT_REVIEWED && status === 'open' && severity !== 'info')
  return list(title, `Not looked at: ${skipped.length} file(s)`, [...entries, ...more, ...(blocks ? [UNREAD_REMEDY] : [])])
}

const findingLine = (finding: TrackedFinding, paint: Paint, history: boolean): string[] => {
  const { id, severity, action, rule, status, text } = finding
  const [first = '', ...more] = wrap(`${id} ${severity} ${place(finding)}: ${oneLine(rule, 60)}, ${action}: ${fate(finding)}`, '  ')
  const style = status === 'open' ? STYLE_OF[severity] : 'dim'
  return [
    ...[first, ...more].map((line) => paint(style, line)),
    ...(history || status === 'open' ? wrap(text, '      ') : []),
    ...(history ? finding.history.flatMap((event) => wrap(`- ${step(event)}`, '      ')).map((line) => paint('dim', line)) : []),
  ]
}

const fixLines = (report: Report, title: Title): string[] => {
  const { fixes, commits, outcome } = report
  if (!fixes) return []
  // A branch name and a key are never broken: people copy them.
  const ways = [
    ...(fixes.branch === null ? [] : [`  branch: ${printable(fixes.branch)}`]),
    ...takeFixes(report).map((line) => `  ${line}`),
    ...(fixes.patch === null ? [] : [`  patch: ${printable(fixes.patch)}`]),
  ]
  const note =
    fixes.branch === null && (outcome === 'failed' || outcome === 'aborted' || outcome === 'superseded')
      ? wrap('Nothing was published; the fixes are kept as a patch.', '  ')
      : []
  return [...title(`Fixes: ${commits.length} commit(s), up to ${fixes.commit.slice(0, 10)}`), ...note, ...ways]
}
