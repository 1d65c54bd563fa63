/** The outstanding set: pure updates of a run's record. It is append-only; findings change status, none leaves. */
import type { Decision } from './decision.ts'
import { LoopError } from './errors.ts'
import type { Finding, FindingEvent, TrackedFinding } from './finding.ts'
import { isBlocking } from './finding-policy.ts'
import { severityRank } from './findings.ts'
import type { Account, FixOutput } from './output.ts'
import type { Policy } from './policy.ts'
import type { FixCommit, RunRecord } from './record.ts'
import { oneLine, printable, redact } from './redact.ts'
import type { OpenCounts } from './run.ts'

/** Turn and round in which something happened. */
export interface When {
  turn: number
  round: number
}

const said = (note: string | null | undefined): { note?: string } => (note ? { note: printable(redact(note)) } : {})

const tell = (finding: TrackedFinding, event: FindingEvent, change: Partial<TrackedFinding> = {}): TrackedFinding => ({
  ...finding,
  ...change,
  history: [...finding.history, event],
})

const raise = (finding: Finding, event: FindingEvent): TrackedFinding => ({
  ...finding,
  status: 'open',
  leftUnfixed: 0,
  returned: false,
  history: [event],
})

/** What the latest look says of the finding itself: where it is now, and how bad. Nothing is left of an older place. */
const seenAgain = (old: TrackedFinding, now: Finding): TrackedFinding => {
  const { status, leftUnfixed, returned, history } = old
  return { ...now, status, leftUnfixed, returned, history }
}

export interface ReviewUpdate extends When {
  role: 'reviewer' | 'certifier'
  /** Checked findings of this look. */
  findings: readonly Finding[]
  /** What a re-review says of the outstanding ones, by id; none of the certifier, who knows of none. */
  accounts: readonly Account[]
  /** Ids that the fix cycle before this look was given; empty where none was. */
  given: readonly string[]
}

/**
 * The record after a look. Raised again, or accounted for as open: still open. Accounted for as fixed or withdrawn: so, unless it
 * was raised in the same breath. Passed over in silence by a reviewer: stays open. What a person declined stays declined unless it
 * has grown worse; what was fixed or withdrawn and is raised again is open again.
 */
export const applyReview = (record: RunRecord, update: ReviewUpdate): RunRecord => {
  const raised = new Map(update.findings.map((finding) => [finding.id, finding]))
  const accounts = new Map(update.accounts.map((account) => [account.id, account]))
  const known = record.findings.map((finding) => look(record, update, finding, raised.get(finding.id), accounts.get(finding.id)))
  const ids = new Set(record.findings.map(({ id }) => id))
  const { turn, round } = update
  const added = [...raised.values()].filter(({ id }) => !ids.has(id)).map((finding) => raise(finding, { event: 'raised', turn, round }))
  return { ...record, findings: [...known, ...added] }
}

const look = (
  record: RunRecord,
  { turn, round, role, given }: ReviewUpdate,
  finding: TrackedFinding,
  raised: Finding | undefined,
  account: Account | undefined,
): TrackedFinding => {
  const at = { turn, round, ...said(account?.note) }
  const left = finding.leftUnfixed + (given.includes(finding.id) ? 1 : 0)
  const seen = raised ? seenAgain(finding, raised) : finding
  const isThere = raised !== undefined || account?.status === 'open'

  if (finding.status === 'declined') {
    const worse = raised !== undefined && severityRank(raised.severity) < severityRank(finding.severity)
    if (worse) return tell(seen, { event: 'reopened', ...at }, { status: 'open', returned: true })
    // Other fixes of the run may have changed the file: what was declined is what the file is now.
    return raised?.content === undefined ? finding : { ...finding, content: raised.content }
  }
  if (finding.status !== 'open') return isThere ? tell(seen, { event: 'reopened', ...at }, { status: 'open', leftUnfixed: left }) : finding
  if (isThere) return tell(seen, { event: 'still-open', ...at }, { leftUnfixed: left })
  if (account?.status === 'fixed')
    return tell(finding, { event: 'fixed', ...at, ...fixedBy(record, round, finding.id) }, { status: 'fixed' })
  // What a person added is not the reviewer's to take back.
  if (account && !finding.history.some(({ event }) => event === 'added-by-person'))
    return tell(finding, { event: 'withdrawn', ...at }, { status: 'withdrawn' })
  return role === 'reviewer' ? tell(finding, { event: 'still-open', ...at }, { leftUnfixed: left }) : finding
}

/** The commit of the cycle that names the finding, else the last of the cycle; a cycle has one commit unless its turns made more. */
const fixedBy = (record: RunRecord, round: number, id: string): { commit?: string } => {
  const cycle = record.commits.filter((commit) => commit.round === round)
  const commit = cycle.findLast(({ findings }) => findings.includes(id)) ?? cycle.at(-1)
  return commit ? { commit: commit.id } : {}
}

export interface FixUpdate extends When {
  /** Ids that the fixer was given in this turn. */
  given: readonly string[]
  results: FixOutput['results']
  /** The turn's fix commit; null where nothing was changed. */
  commit: FixCommit | null
}

/**
 * The record after a fix turn. Whether a finding is fixed is not the fixer's to say: it stays open until a look accounts for it.
 * What it says of findings that it was not given counts for nothing.
 */
export const applyFix = (record: RunRecord, { turn, round, given, results, commit }: FixUpdate): RunRecord => {
  const answers = new Map(results.map((result) => [result.id, result]))
  const findings = record.findings.map((finding) => {
    if (!given.includes(finding.id)) return finding
    const result = answers.get(finding.id)
    const at = { turn, round, ...said(result?.note) }
    const tried = commit !== null && result?.status !== 'not-fixed'
    return tell(finding, tried ? { event: 'given-to-fixer', ...at, commit: commit.id } : { event: 'not-fixed', ...at })
  })
  return { ...record, findings, given: [...given], commits: commit ? [...record.commits, commit] : record.commits }
}

/**
 * The record after a person's decision. `fix`: the named findings are selected, so that they may be fixed without asking again, the
 * declined ones no longer block, and the added ones are open; `given` is what the cycle that begins is to fix.
 * Errors: BadDecision where an id is not that of an open finding.
 */
export const applyDecision = (record: RunRecord, decision: Decision, update: When & { addedFindings: readonly Finding[] }): RunRecord => {
  const { answer } = decision
  const decided = { ...record, decisions: [...record.decisions, decision] }
  if (answer.kind !== 'fix') return decided
  assertOpen(record, [...answer.findings, ...answer.decline])

  const { turn, round } = update
  const by = decision.by === null ? {} : { by: decision.by }
  const added = new Map(update.addedFindings.map((finding) => [finding.id, { ...finding, action: 'auto-fix' } as const]))
  const findings = decided.findings.map((finding) => {
    const note = said(answer.notes[finding.id] ?? answer.note)
    const mine = added.get(finding.id)
    if (mine)
      return tell(seenAgain(finding, mine), { event: 'added-by-person', turn, round, ...by, ...note }, { status: 'open', returned: false })
    if (answer.decline.includes(finding.id))
      return tell(finding, { event: 'declined', turn, round, ...by, ...note }, { status: 'declined' })
    if (answer.findings.includes(finding.id))
      return tell(finding, { event: 'selected', turn, round, ...by, ...note }, { action: 'auto-fix', returned: false })
    return finding
  })
  const known = new Set(record.findings.map(({ id }) => id))
  const fresh = [...added.values()]
    .filter(({ id }) => !known.has(id))
    .map((finding) => raise(finding, { event: 'added-by-person', turn, round, ...by }))
  return { ...decided, findings: [...findings, ...fresh], given: [...new Set([...answer.findings, ...added.keys()])] }
}

const assertOpen = (record: RunRecord, ids: readonly string[]): void => {
  const open = new Set(record.findings.filter(({ status }) => status === 'open').map(({ id }) => id))
  const unknown = ids.filter((id) => !open.has(id))
  if (unknown.length)
    throw new LoopError('BadDecision', `No open finding has the id ${unknown.map((id) => oneLine(id, 40)).join(', ')}.`, { unknown })
}

/** A finding that a published run fixed on this branch and that is back: a person took the fix out, unless one has asked for it since. */
export const markReturned = (record: RunRecord, fixedBefore: readonly string[]): RunRecord => {
  const before = new Set(fixedBefore)
  const findings = record.findings.map((finding) => {
    const { id, status, returned, history } = finding
    const wanted = history.some(({ event }) => event === 'selected' || event === 'added-by-person')
    const last = history.at(-1)
    if (!before.has(id) || status !== 'open' || returned || wanted || !last) return finding
    const { turn, round } = last
    return tell(
      finding,
      { event: 'reopened', turn, round, note: 'An earlier run fixed it on this branch, and it is back.' },
      { returned: true },
    )
  })
  return { ...record, findings }
}

/** What is open and blocking. `stuck` ones are counted in `autoFix` or `other` as well. */
export const counts = (policy: Pick<Policy, 'block_on'>, record: RunRecord): OpenCounts => {
  const blocking = record.findings.filter((finding) => isBlocking(policy, finding))
  const autoFix = blocking.filter(({ action }) => action === 'auto-fix').length
  return {
    autoFix,
    other: blocking.length - autoFix,
    stuck: blocking.filter(({ leftUnfixed, returned }) => leftUnfixed >= 2 || returned).length,
  }
}

/** What an automatic fix cycle is given: these only. After a decision it is `record.given`. */
export const toFix = (policy: Pick<Policy, 'block_on'>, record: RunRecord): TrackedFinding[] =>
  record.findings.filter((finding) => finding.action === 'auto-fix' && isBlocking(policy, finding))
