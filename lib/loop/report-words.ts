/** Words that the formats of the report share. */
import type { TrackedFinding } from './finding.ts'
import type { TurnRecord } from './record.ts'
import type { Report } from './report.ts'

const REASONS: Record<NonNullable<Report['reason']>, string> = {
  'nothing-to-review': 'there is nothing to review',
  clean: 'no blocking finding',
  certified: 'a reader without a session found nothing that blocks',
  'by-person': 'a person approved it, with what is open',
  'not-certified': 'the fixes were not certified',
  'open-findings': 'blocking findings are open',
  'no-change': 'the fixer changed nothing',
  stuck: 'a finding was not to be fixed, or came back',
  limit: 'a limit was reached',
  rounds: 'no round is left',
  skipped: 'a person chose not to go on',
  expired: 'nobody answered in time',
  aborted: 'the run was aborted',
  superseded: 'a newer head took the place of this one',
  failed: 'the run failed',
}

const HEADINGS: Record<NonNullable<Report['outcome']>, string> = {
  approved: 'Approved',
  'changes-requested': 'Changes requested',
  aborted: 'Aborted',
  superseded: 'Superseded',
  failed: 'Failed',
}

/** e.g. "Approved: no blocking finding". */
export const headline = ({ status, outcome, reason, by }: Report): string => {
  if (!outcome) return status === 'parked' ? 'Parked: a person is asked' : 'Running'
  return `${HEADINGS[outcome]}${reason ? `: ${REASONS[reason]}` : ''}${by === null ? '' : ` (${by})`}`
}

const QUESTIONS: Record<NonNullable<Report['question']>['why'], string> = {
  stuck: 'A finding was left unfixed twice, or came back after a person took it out.',
  'ask-user': 'Findings are open that a person has to decide on.',
  rounds: 'No round is left, and findings are open.',
  limit: 'A limit was reached.',
  'no-change': 'The fixer changed nothing.',
}
export const asks = ({ why, reason }: NonNullable<Report['question']>): string => `${QUESTIONS[why]}${reason ? ` It says: ${reason}` : ''}`

export const place = ({ file, line }: Pick<TrackedFinding, 'file' | 'line'>): string => (line === undefined ? file : `${file}:${line}`)

/** What to do about files that nobody looked at, where they block. */
export const UNREAD_REMEDY =
  'A change is not clean while part of it was not read. Read these yourself and approve, or say in .reviewloop.yaml on the base branch which files need no review (`ignore`), or that unread files are only to be disclosed (`unread: disclose`).'

/** What has become of a finding: its last event in words. */
export const fate = ({ status, history, leftUnfixed, returned }: TrackedFinding): string => {
  const last = history.findLast(({ event }) => event === status || (status === 'open' && event !== 'declined'))
  if (status === 'fixed') return `fixed in round ${last?.round ?? 0}${last?.commit ? ` by ${last.commit.slice(0, 10)}` : ''}`
  if (status === 'declined') return `declined${last?.by ? ` by ${last.by}` : ''}`
  if (status === 'withdrawn') return 'withdrawn'
  return `open${leftUnfixed > 0 ? `, left unfixed ${leftUnfixed}x` : ''}${returned ? ', came back' : ''}`
}

/** One step of a finding's history, e.g. "fixed (turn 3, 1a2b3c4d5e)". */
export const step = ({ event, turn, commit, by, note }: TrackedFinding['history'][number]): string =>
  `${event} (${[turn > 0 ? `turn ${turn}` : null, commit?.slice(0, 10), by].filter(Boolean).join(', ')})${note ? `: ${note}` : ''}`

export const seconds = ({ startedAt, endedAt }: Pick<TurnRecord, 'startedAt' | 'endedAt'>): string =>
  `${Math.max(0, (Date.parse(endedAt) - Date.parse(startedAt)) / 1000).toFixed(1)} s`

export const tally = ({ findings }: Report): string => {
  const count = (status: TrackedFinding['status']) => findings.filter((finding) => finding.status === status).length
  return `${findings.length} found, ${count('fixed')} fixed, ${count('open')} open, ${count('declined')} declined, ${count('withdrawn')} withdrawn`
}

export const cost = ({ spent }: Report): string =>
  `${spent.tokens} tokens, ${spent.dollars === null ? 'dollars unknown' : `$${spent.dollars.toFixed(2)}`}, ${(spent.milliseconds / 1000).toFixed(1)} s of agents' work`
