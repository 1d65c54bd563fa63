/** Decisions: recording one (`decideRun`), and the state Decide that acts on what was recorded. */
import { isDeepStrictEqual } from 'node:util'
import { writeJson } from './artifact.ts'
import { rememberDeclined } from './branch.ts'
import { assertCurrent, changeRun, readRun } from './current-run.ts'
import { type Answer, type Decision, givenAnswer } from './decision.ts'
import { declinedBy, declinedIn } from './declined.ts'
import { LoopError } from './errors.ts'
import { normalisePath } from './findings.ts'
import { firstIssue } from './issue.ts'
import type { RunItem } from './items.ts'
import { advance } from './next-step.ts'
import type { Ports } from './ports.ts'
import { oneLine, redactAll } from './redact.ts'
import { branchKeyOf } from './run-id.ts'
import { loadRecord } from './run-record.ts'
import type { RunState } from './run.ts'
import { questionId } from './verdict.ts'

/**
 * The time-out of the Park state counts from when the state was entered, the question's from when its function wrote it: so much
 * later at the most. Without the slack a run whose time is over would be parked all over again.
 */
const EXPIRY_SLACK_MS = 15 * 60_000

/** A decision stands in the run item, which with all that it holds may not grow past 400 KB. */
const MOST_BYTES = 200 * 1024

const decisionKey = (runId: string, question: string): string => `decisions/${runId}/${question}.json`

/**
 * Records what a person answered, as a compare-and-set on the run item, and wakes the run. The same decision again is sent
 * again and answered alike; another is StaleDecision. Nothing changes on an error.
 * Errors: RunNotFound, BadDecision, RoundsUsedUp, StaleDecision, StoreConflict.
 */
export const decideRun = async (
  ports: Pick<Ports, 'runs' | 'artifacts' | 'executions' | 'effects'>,
  runId: string,
  input: { question?: string | undefined; answer: Answer; by: string },
): Promise<RunItem> => {
  const answer = checked(input)
  const before = await readRun(ports.runs, runId)
  if (before.question && !before.decision) await assertFits(ports, before, answer)
  const run = await changeRun(ports, runId, (current) => {
    const { question, decision } = current
    if (!question || (input.question !== undefined && input.question !== question.id)) throw stale(runId)
    const same = decision?.question === question.id && isDeepStrictEqual(decision.answer, answer) && decision.by === input.by
    if (same) return null
    if (decision || current.status !== 'parked' || question.id !== before.question?.id) throw stale(runId)
    const at = ports.effects.now()
    if (at >= Date.parse(question.expiresAt)) throw stale(runId)
    return { decision: { question: question.id, answer, by: input.by, at: new Date(at).toISOString() } }
  })
  if (run.status === 'parked' && run.token) await ports.executions.wake(run.token)
  return run
}

const checked = (input: { answer: Answer; by: string }): Answer => {
  const parsed = givenAnswer.safeParse(input)
  if (!parsed.success) throw new LoopError('BadDecision', `The decision is not valid: ${firstIssue(parsed.error)}`)
  // A note goes to an agent: a secret in it would go to whoever runs the model.
  const answer = redactAll(parsed.data.answer)
  const bytes = Buffer.byteLength(JSON.stringify(answer))
  if (bytes > MOST_BYTES)
    throw new LoopError('BadDecision', `The decision has ${Math.ceil(bytes / 1024)} KB, and at most ${MOST_BYTES / 1024} KB can be kept.`, {
      bytes,
    })
  return answer
}

const stale = (runId: string) => new LoopError('StaleDecision', `Run ${runId} does not wait for this decision.`, { runId })

const MOST_NAMED = 10
/** Ids as they were given, in a message that stays one. */
const namedIn = (ids: readonly string[]): string =>
  `${ids
    .slice(0, MOST_NAMED)
    .map((id) => oneLine(id, 40))
    .join(', ')}${ids.length > MOST_NAMED ? `, and ${ids.length - MOST_NAMED} more` : ''}`

const assertFits = async (ports: Pick<Ports, 'artifacts'>, run: RunItem, answer: Answer): Promise<void> => {
  const { question } = run
  if (!question || answer.kind === 'abort') return
  const fixes = answer.kind === 'fix' ? answer : { findings: [], notes: {}, add: [] }
  const decline = answer.decline ?? []
  if (answer.kind === 'fix' && question.roundsLeft < 1) throw new LoopError('RoundsUsedUp')
  if (answer.kind === 'fix' && !answer.findings.length && !answer.add.length)
    throw new LoopError('BadDecision', 'A decision to fix names no finding and adds none.')
  const named = [...fixes.findings, ...decline, ...Object.keys(fixes.notes)]
  if (!named.length && !fixes.add.length) return
  const open = new Set(
    (await loadRecord(ports, { record: question.record, source: null })).findings.flatMap((f) => (f.status === 'open' ? [f.id] : [])),
  )
  const unknown = named.filter((id) => !open.has(id))
  if (unknown.length)
    throw new LoopError('BadDecision', `No open finding has the id ${namedIn(unknown)}.`, { unknown: unknown.slice(0, MOST_NAMED) })
  for (const { file } of fixes.add) {
    const place = normalisePath(file)
    if ('reason' in place) throw new LoopError('BadDecision', `An added finding was refused: ${place.reason}.`, { file })
  }
  const declined = new Set(decline)
  const both = fixes.findings.filter((id) => declined.has(id))
  if (both.length)
    throw new LoopError('BadDecision', `A finding cannot be both fixed and declined: ${namedIn(both)}.`, {
      both: both.slice(0, MOST_NAMED),
    })
}

/**
 * State Decide. Reads the run item, whatever woke the execution: a decision is acted on; without one, and the time over, the
 * time-out is recorded as the decision; else the run goes back to Park.
 * Errors: StaleExecution, StoreConflict.
 */
export const decide = async (ports: Pick<Ports, 'runs' | 'artifacts' | 'effects' | 'announce'>, state: RunState): Promise<RunState> => {
  const id = questionId(state.turn)
  let waited = false
  const run = await changeRun(ports, state.runId, (current) => {
    assertCurrent(current, state)
    waited = current.status === 'parked'
    const { question, decision } = current
    if (question?.id !== id) return null
    if (decision?.question === id) return current.status === 'parked' ? { status: 'running', token: null } : null
    const now = ports.effects.now()
    if (now < Date.parse(question.expiresAt) - EXPIRY_SLACK_MS) return null
    return {
      status: 'running',
      token: null,
      decision: { question: id, answer: { kind: 'expired' }, by: null, at: new Date(now).toISOString() },
    }
  })
  const decision: Decision | null = run.decision?.question === id ? run.decision : null
  if (!decision) return { ...state, next: 'Park' }
  if (waited && run.question)
    ports.effects.happened({ kind: 'answered', runId: state.runId, waitedMs: Date.parse(decision.at) - Date.parse(run.question.askedAt) })
  if (declinedBy(decision).length) await remember(ports, run, state, decision)
  if (decision.answer.kind !== 'fix') return advance(state, { step: 'Decide', answer: decision.answer.kind, by: decision.by })
  const key = decisionKey(state.runId, id)
  await writeJson(ports.artifacts, key, decision)
  // Of every other answer the run's end tells.
  await ports.announce(state.runId, { begun: true })
  return advance({ ...state, decision: key }, { step: 'Decide', answer: 'fix', by: decision.by })
}

/** At once, and not only when the run ends: a newer head may take the branch before this one is closed. */
const remember = async (
  ports: Pick<Ports, 'runs' | 'artifacts' | 'effects'>,
  { runId, request }: RunItem,
  state: RunState,
  decision: Decision,
): Promise<void> => {
  const { declined } = declinedIn(await loadRecord(ports, state), runId, decision)
  await rememberDeclined(ports, branchKeyOf(request.repository, request.branch ?? request.head), { run: runId, declined, wanted: [] })
}
