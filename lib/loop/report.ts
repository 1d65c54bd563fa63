/** What a run has to tell, as data: the JSON that programs read and that the other formats are made from. */
import * as z from 'zod'
import { ROLES } from '../names.ts'
import { decision, question } from './decision.ts'
import { ERRORS, isErrorName } from './errors.ts'
import { trackedFinding } from './finding.ts'
import type { RunItem } from './items.ts'
import { skippedFile } from './output.ts'
import { certificate, emptyRecord, fixCommit, type RunRecord, turnRecord, type TurnRecord, type Usage } from './record.ts'
import { redactAll } from './redact.ts'
import { commitId, runId, runRequest, spent, type Spent, verdict } from './run.ts'
import { noUsage, tokensOf } from './usage.ts'

export const report = z.strictObject({
  version: z.literal(1),
  run: runId,
  request: runRequest,
  status: z.enum(['running', 'parked', 'ended']),
  /** null while the run goes on. */
  outcome: verdict.shape.outcome.nullable(),
  reason: verdict.shape.reason.nullable(),
  /** The person, where one decided. */
  by: z.string().nullable(),
  /** What failed, and what to do about it. */
  error: z.strictObject({ name: z.string(), message: z.string(), remedy: z.string() }).nullable(),
  /** Fix rounds, automatic and human together. */
  rounds: z.int().min(0),
  turns: z.array(turnRecord),
  findings: z.array(trackedFinding),
  commits: z.array(fixCommit),
  certificates: z.array(certificate),
  decisions: z.array(decision),
  skipped: z.array(skippedFile),
  notices: z.array(z.string()),
  /** What the parked run asks, or asked last. */
  question: question.nullable(),
  spent,
  /** Hashes of the ids of the sessions that served, in order. */
  sessions: z.array(z.strictObject({ role: z.enum(ROLES), fingerprints: z.array(z.string()) })),
  /** How to take the fixes; null where there are none. */
  fixes: z
    .strictObject({
      commit: commitId,
      /** Branch that they were put on; null where they were not. */
      branch: z.string().nullable(),
      /** Artifact key of the patch, which `git apply` takes on the head; null while the run goes on. */
      patch: z.string().nullable(),
    })
    .nullable(),
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
})
export type Report = z.infer<typeof report>

/**
 * The report of a run as its item and its record tell it; the same give the same report, byte for byte. `unfinished`, where the caller
 * has it, is what attempts used that came to nothing, which no record tells. Secrets in texts are redacted.
 */
export const makeReport = (told: { run: RunItem; record: RunRecord | null; unfinished?: Usage }): Report => {
  const { run, record, unfinished = noUsage() } = told
  const { findings, turns, commits, certificates, decisions, skipped, notices } = record ?? emptyRecord()
  return redactAll({
    version: 1,
    run: run.runId,
    request: run.request,
    status: run.status,
    outcome: run.verdict?.outcome ?? null,
    reason: run.verdict?.reason ?? null,
    by: run.verdict?.by ?? null,
    error: errorOf(run),
    rounds: Math.max(0, ...turns.map(({ round }) => round)),
    turns,
    findings,
    commits,
    certificates,
    decisions:
      run.decision && !decisions.some(({ question: id }) => id === run.decision?.question) ? [...decisions, run.decision] : decisions,
    skipped,
    notices,
    question: run.question,
    spent: spentOn(turns, unfinished),
    sessions: ROLES.map((role) => ({ role, fingerprints: fingerprintsOf(turns.filter((turn) => turn.role === role)) })),
    fixes: fixesOf(run, commits),
    startedAt: run.createdAt,
    endedAt: run.endedAt,
  })
}

const errorOf = ({ failure, verdict: ended }: RunItem): Report['error'] => {
  const name = failure?.error ?? ended?.error
  if (!name) return null
  const entry = ERRORS[isErrorName(name) ? name : 'Unexpected']
  return { name, message: failure?.message || entry.meaning, remedy: entry.remedy }
}

/** A failed call was paid for like any other. */
const spentOn = (turns: readonly TurnRecord[], unfinished: Usage): Spent => {
  const all = [...turns.map(({ usage }) => usage), unfinished]
  const dollars = all.flatMap((usage) => (usage.dollars === null ? [] : [usage.dollars]))
  return {
    tokens: all.reduce((sum, usage) => sum + tokensOf(usage), 0),
    dollars: dollars.length || !all.some(({ calls }) => calls > 0) ? dollars.reduce((sum, value) => sum + value, 0) : null,
    milliseconds: turns.reduce((sum, turn) => sum + Math.max(0, Date.parse(turn.endedAt) - Date.parse(turn.startedAt)), 0),
  }
}

const fingerprintsOf = (turns: readonly TurnRecord[]): string[] => [
  ...new Set(turns.flatMap(({ fingerprint }) => (fingerprint === null ? [] : [fingerprint]))),
]

/** A run that failed or was ended early has not pushed, whatever it had recorded for pushing: its fixes are in the patch. */
const fixesOf = (run: RunItem, commits: RunRecord['commits']): Report['fixes'] => {
  const last = commits.at(-1)
  if (!last) return null
  const published = run.status === 'ended' && (run.verdict?.outcome === 'approved' || run.verdict?.outcome === 'changes-requested')
  return { commit: last.id, branch: published ? (run.publishing?.ref ?? null) : null, patch: run.reports['patch'] ?? null }
}
