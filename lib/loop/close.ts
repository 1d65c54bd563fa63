/** State Close: the run item first, then the tombstones, then ids and transcripts. It may be run again at any point. */
import { TURN_ROLES, type TurnRole } from '../names.ts'
import { readBytes } from './artifact.ts'
import { freeBranch, rememberDeclined } from './branch.ts'
import { dismiss } from './budget.ts'
import { changeRun } from './current-run.ts'
import { declinedIn } from './declined.ts'
import { asLoopError, LoopError } from './errors.ts'
import type { RunItem, TurnItem } from './items.ts'
import { endedNotice } from './notice.ts'
import { rememberNight } from './night.ts'
import type { Ports } from './ports.ts'
import { emptyRecord, type RunRecord, type Usage } from './record.ts'
import { makeReport } from './report.ts'
import { renderMarkdown } from './report-markdown.ts'
import { renderSarif } from './report-sarif.ts'
import { readItems } from './resume.ts'
import { branchKeyOf } from './run-id.ts'
import { loadRecord } from './run-record.ts'
import type { RunState, Verdict } from './run.ts'
import { countLeft } from './spend.ts'
import { tombstone } from './turn-item.ts'
import { addUsage, noUsage } from './usage.ts'

type ClosePorts = Pick<Ports, 'runs' | 'sessions' | 'artifacts' | 'effects' | 'announce' | 'notify' | 'deployment'>

export const REPORT_FORMATS = ['json', 'md', 'sarif', 'patch'] as const
export const reportKey = (runId: string, format: (typeof REPORT_FORMATS)[number]): string => `reports/${runId}/report.${format}`
/** Where a fix turn leaves the patch of all fix commits so far. */
export const patchKey = (changeset: string): string => `${changeset}.patch`

const UNKNOWN: Verdict = { outcome: 'failed', reason: 'failed', by: null, error: 'Unexpected' }

/** Errors: RunNotFound, StaleExecution (a newer execution speaks for the run), StoreConflict, StoreUnavailable. */
export const close = async (ports: ClosePorts, state: RunState): Promise<RunState> => {
  const verdict = state.verdict ?? UNKNOWN
  const patch = state.changeset ? await ports.artifacts.get(patchKey(state.changeset)) : null
  let isEnd = false
  const run = await changeRun(ports, state.runId, (current) => {
    assertSpeaks(current, state)
    isEnd = current.status !== 'ended'
    if (!isEnd) return null
    const formats = REPORT_FORMATS.filter((format) => format !== 'patch' || patch)
    return {
      status: 'ended',
      verdict,
      token: null,
      record: state.record ?? current.record,
      reports: Object.fromEntries(formats.map((format) => [format, reportKey(state.runId, format)])),
      endedAt: new Date(ports.effects.now()).toISOString(),
    }
  })
  const tookMs = Date.parse(run.endedAt ?? run.updatedAt) - Date.parse(run.createdAt)
  if (isEnd) ports.effects.happened({ kind: 'ended', runId: run.runId, verdict, tookMs })
  for (const role of TURN_ROLES) await bury(ports, state, role)
  const graves = await readItems(ports, state.runId)
  await countLeft(ports, state, { graves, endedAt: run.endedAt ?? run.updatedAt })
  const record = await recordOf(ports, run, state)
  await writeReports(ports, { run, record, unfinished: unfinishedIn(graves) }, patch)
  for (const role of TURN_ROLES) await ports.artifacts.deleteAll(`transcripts/${role}/${state.runId}/`)
  await ports.artifacts.deleteAll(`work/fixer/${state.runId}/`)
  const { repository, branch, head } = run.request
  const key = branchKeyOf(repository, branch ?? head)
  await rememberDeclined(ports, key, { run: run.runId, ...declinedIn(record, run.runId, run.decision) })
  await rememberNight(ports, key, run, state.source)
  const { active: heir } = await freeBranch(ports, key, run.runId)
  await dismiss(ports, { repository, branch: key, run: run.runId, heir })
  await changeRun(ports, state.runId, (current) => {
    assertSpeaks(current, state)
    return current.closed ? null : { closed: true }
  })
  await ports.announce(state.runId)
  const notice = endedNotice(run, record)
  if (notice) await ports.notify(notice)
  return { ...state, verdict: run.verdict ?? verdict, next: (run.verdict ?? verdict).outcome === 'failed' ? 'Failed' : 'Done' }
}

const assertSpeaks = (run: RunItem, { runId, epoch }: RunState): void => {
  if (run.epoch !== epoch) throw new LoopError('StaleExecution', `Execution ${run.epoch} speaks for run ${runId}.`, { runId })
}

/** The worker that finished the latest turn may have been cut off before it told the history. */
const bury = async (ports: ClosePorts, { runId, epoch }: RunState, role: TurnRole): Promise<void> => {
  for (let tries = 0; tries < 16; tries++) {
    const item = await ports.sessions.read({ runId, role })
    const next = tombstone(item, { runId, role, epoch, now: ports.effects.now(), nonce: ports.effects.nonce() })
    if (!next || (await ports.sessions.write({ runId, role }, next)))
      return item?.done ? ports.runs.addTurn(runId, item.done.record) : undefined
  }
  throw new LoopError('StoreConflict', `Others keep writing the ${role}'s item of run ${runId}.`, { runId, role })
}

/** What attempts used that came to nothing: no turn's record tells it, the tombstones do. */
const unfinishedIn = (graves: readonly (TurnItem | null)[]): Usage =>
  graves.reduce((sum, item) => addUsage(sum, item?.unfinished ?? noUsage()), noUsage())

/** A run ends whatever became of its record. */
const recordOf = async (ports: ClosePorts, run: RunItem, state: RunState): Promise<RunRecord> => {
  try {
    return await loadRecord(ports, { record: run.record, source: state.source })
  } catch (thrown) {
    const error = asLoopError(thrown)
    if (error.name !== 'ArtifactLost') throw error
    return { ...emptyRecord(), notices: [`The record of the run is lost, and what it found with it: ${error.message}`] }
  }
}

/** Made from ended items alone, so that writing them again writes the same bytes; what a Close that was cut off has written stands. */
const writeReports = async (
  ports: ClosePorts,
  ended: { run: RunItem; record: RunRecord; unfinished: Usage },
  patch: Uint8Array | null,
): Promise<void> => {
  const { run } = ended
  const report = makeReport(ended)
  const texts = {
    json: `${JSON.stringify(report, null, 2)}\n`,
    md: renderMarkdown(report),
    sarif: `${JSON.stringify(renderSarif(report), null, 2)}\n`,
  }
  for (const [format, text] of Object.entries(texts))
    await putOnce(ports, reportKey(run.runId, format as keyof typeof texts), new TextEncoder().encode(text))
  if (patch) await putOnce(ports, reportKey(run.runId, 'patch'), patch)
}

const putOnce = async (ports: ClosePorts, key: string, bytes: Uint8Array): Promise<void> => {
  try {
    await ports.artifacts.put(key, bytes)
  } catch (thrown) {
    if (asLoopError(thrown).name !== 'StoreConflict') throw thrown
    ports.effects.log('info', 'the report stands as it was written first', { key })
  }
}

/** A report of a run, as it was written at the end. Errors: ArtifactLost. */
export const readReport = (ports: Pick<Ports, 'artifacts'>, runId: string, format: (typeof REPORT_FORMATS)[number]): Promise<Uint8Array> =>
  readBytes(ports.artifacts, reportKey(runId, format))
