/** What a session is told that has to start in the middle of a run. It comes from the run's record, not from the lost session. */
import type { TurnRole } from '../names.ts'
import type { HandOver } from './agent.ts'
import type { DeclinedFinding, FindingEvent, TrackedFinding } from './finding.ts'
import type { RunRecord } from './record.ts'

/** Events whose note is the fixer's own words, and those whose note is a reviewer's. Notes of persons are for both. */
const NOTED_BY: Partial<Record<FindingEvent['event'], 'fixer' | 'reviewer'>> = {
  'not-fixed': 'fixer',
  'given-to-fixer': 'fixer',
  fixed: 'reviewer',
  raised: 'reviewer',
  'still-open': 'reviewer',
  withdrawn: 'reviewer',
  reopened: 'reviewer',
}

/** The event without what the other role said of it: roles share findings and decisions, not their words. */
const heardBy =
  (role: 'fixer' | 'reviewer') =>
  ({ note, ...event }: FindingEvent): FindingEvent => {
    const speaker = NOTED_BY[event.event] ?? role
    return note === undefined || speaker !== role ? event : { ...event, note }
  }

const lastNote = (finding: TrackedFinding, event: FindingEvent['event']): string | null =>
  finding.history.findLast((entry) => entry.event === event)?.note ?? null

/** What persons took out, each with that person's note: in this run, and in earlier ones on the branch (`before`), as far as it stands. */
export const declinedOf = (findings: readonly TrackedFinding[], before: readonly DeclinedFinding[] = []): HandOver['declined'] => {
  const known = new Set(findings.map(({ id }) => id))
  const earlier = before.filter(({ id }) => !known.has(id)).map(({ id, rule, file, text }) => ({ id, rule, file, text, note: null }))
  const here = findings
    .filter(({ status }) => status === 'declined')
    .map((finding) => {
      const { id, rule, file, text } = finding
      return { id, rule, file, text, note: lastNote(finding, 'declined') }
    })
  return [...here, ...earlier]
}

/** null before the first turn of the run: there is nothing to hand over. */
export const handOver = (record: RunRecord, { role, round }: { role: TurnRole; round: number }): HandOver | null => {
  if (record.turns.length === 0) return null
  const hearer = role === 'fixer' ? 'fixer' : 'reviewer'
  const findings = record.findings.map((finding) => ({ ...finding, history: finding.history.map(heardBy(hearer)) }))
  return {
    round,
    outstanding: findings.filter((finding) => finding.status === 'open'),
    tried: findings.flatMap((finding) =>
      finding.history
        .filter((event) => event.event === 'given-to-fixer' || event.event === 'not-fixed')
        .map((event) => ({ id: finding.id, commit: event.commit ?? null, note: event.note ?? null })),
    ),
    declined: declinedOf(findings),
  }
}
