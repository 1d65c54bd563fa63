/** What a person declined is not raised again: in the run by its status, in later runs on the branch by the branch's memory. */
import { createHash } from 'node:crypto'
import type { Decision } from './decision.ts'
import type { DeclinedFinding, Finding, FindingEvent, TrackedFinding } from './finding.ts'
import { severityRank, wholeFileId } from './findings.ts'
import type { RunRecord } from './record.ts'
import { oneLine } from './redact.ts'
import type { ReadFiles } from './workspace.ts'

/** Bytes of a file that is read to tell its content from another. A larger one is asked about again. */
const MOST_BYTES = 64 * 1024 * 1024

/** The findings of whole files with the fingerprint of what the files hold: their ids say nothing of it. */
export const withContent = async (files: Pick<ReadFiles, 'read'>, findings: readonly Finding[]): Promise<Finding[]> => {
  const known = new Map<string, string | null>()
  const contentOf = async (file: string): Promise<string | null> => {
    const bytes = await files.read(file, MOST_BYTES).catch(() => undefined)
    return bytes === undefined ? null : bytes === null ? 'none' : createHash('sha256').update(bytes).digest('hex').slice(0, 16)
  }
  const marked: Finding[] = []
  for (const finding of findings) {
    if (finding.id !== wholeFileId(finding.file, finding.rule)) {
      marked.push(finding)
      continue
    }
    if (!known.has(finding.file)) known.set(finding.file, await contentOf(finding.file))
    const content = known.get(finding.file)
    marked.push(content ? { ...finding, content } : finding)
  }
  return marked
}

export const declinedBy = ({ answer }: Decision): readonly string[] => ('decline' in answer ? (answer.decline ?? []) : [])

const PERSONS: readonly FindingEvent['event'][] = ['declined', 'selected', 'added-by-person']

/** What a person last did with the finding in this run. */
const lastWord = ({ history }: TrackedFinding): FindingEvent | undefined => history.findLast(({ event }) => PERSONS.includes(event))

/**
 * The record with what was declined in an earlier run on the branch declined again, unless it has grown worse, the file that it is
 * about as a whole has changed, or a person has said something of it in this run. A changed line makes another id.
 */
export const markDeclined = (record: RunRecord, before: readonly DeclinedFinding[]): RunRecord => {
  const known = new Map(before.map((entry) => [entry.id, entry]))
  const findings = record.findings.map((finding): TrackedFinding => {
    const entry = known.get(finding.id)
    const last = finding.history.at(-1)
    if (!entry || !last || finding.status !== 'open' || lastWord(finding)) return finding
    if (severityRank(finding.severity) < severityRank(entry.severity)) return finding
    if (finding.id === wholeFileId(finding.file, finding.rule) && (!finding.content || finding.content !== entry.content)) return finding
    const { turn, round } = last
    const note = `Declined on ${entry.at.slice(0, 10)} in run ${entry.run} on this branch.`
    const event = { event: 'declined' as const, turn, round, ...(entry.by === null ? {} : { by: entry.by }), note }
    return { ...finding, status: 'declined', history: [...finding.history, event] }
  })
  return { ...record, findings }
}

/** What the branch is to remember of a run, and what it is to forget: a person has asked for it since. */
export interface DeclinedInRun {
  declined: DeclinedFinding[]
  wanted: string[]
}

/** Characters: the branch's item is to stay small, and the run's record has the whole. */
const MOST_NAME = 40
const MOST_WORDS = 80
const UNKNOWN_TIME = new Date(0).toISOString()

/**
 * `pending`: a decision that no turn has acted on yet. An entry of another run is one that this run only met again: its `run` is ''.
 */
export const declinedIn = (record: RunRecord, run: string, pending: Decision | null): DeclinedInRun => {
  const decisions =
    pending && !record.decisions.some(({ question }) => question === pending.question) ? [...record.decisions, pending] : record.decisions
  const decided = new Map<string, Decision>()
  const wanted = new Set<string>()
  for (const decision of decisions) {
    for (const id of declinedBy(decision)) decided.set(id, decision)
    if (decision.answer.kind === 'fix') for (const id of decision.answer.findings) wanted.add(id)
  }
  for (const finding of record.findings) if (lastWord(finding)?.event === 'added-by-person') wanted.add(finding.id)
  const declined = record.findings.flatMap((finding): DeclinedFinding[] => {
    const { id, status, severity, content = null } = finding
    const decision = decided.get(id)
    if (status !== 'declined' && !(decision && decision === pending)) return []
    wanted.delete(id)
    const { rule, file, text } = finding
    const short = { rule: oneLine(rule, MOST_NAME), file: oneLine(file, MOST_WORDS), text: oneLine(text, MOST_WORDS) }
    const by = decision?.by ? oneLine(decision.by, MOST_NAME) : null
    return [{ id, ...short, severity, content, run: decision ? run : '', by, at: decision?.at ?? UNKNOWN_TIME }]
  })
  return { declined, wanted: [...wanted] }
}
