/** The report of a run in any of its formats: as Close wrote it, or, while the run goes on, made from what it has come to. */
import { turnObjectKey } from '../names.ts'
import { patchKey, reportKey, type REPORT_FORMATS } from './close.ts'
import { asLoopError, LoopError } from './errors.ts'
import type { RunItem } from './items.ts'
import type { Ports } from './ports.ts'
import type { RunRecord } from './record.ts'
import { renderMarkdown } from './report-markdown.ts'
import { renderSarif } from './report-sarif.ts'
import { makeReport } from './report.ts'
import { loadRecord } from './run-record.ts'

export type ReportFormat = (typeof REPORT_FORMATS)[number]
type ReportPorts = Pick<Ports, 'runs' | 'artifacts'>

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

const recordAt = async (ports: ReportPorts, key: string): Promise<RunRecord | null> => {
  try {
    return await loadRecord(ports, { record: key, source: null })
  } catch (thrown) {
    if (asLoopError(thrown).name !== 'ArtifactLost') throw thrown
    return null
  }
}

/** The run's record as of its latest finished turn; null before the first. */
const latestRecord = async (ports: ReportPorts, run: RunItem): Promise<RunRecord | null> => {
  const turns = run.status === 'running' ? await ports.runs.turns(run.runId) : []
  for (const { role, turn, fence } of turns.toReversed()) {
    const record = await recordAt(ports, turnObjectKey('records', role, run.runId, turn, fence))
    if (record) return record
  }
  return run.record ? recordAt(ports, run.record) : null
}

/** Where the patch of all fix commits so far may lie: beside the other reports, or still where its fix turn left it. */
const patchKeys = (run: RunItem, record: RunRecord | null): string[] => {
  const reported = run.reports['patch']
  const last = record?.commits.at(-1)
  const turn = record?.turns.find(({ role, turn: number }) => role === 'fixer' && number === last?.turn)
  const made = turn && patchKey(turnObjectKey('changesets', 'fixer', run.runId, turn.turn, turn.fence))
  return [reported, made].filter((key) => key !== undefined)
}

const render = (run: RunItem, record: RunRecord | null, format: Exclude<ReportFormat, 'patch'>): Uint8Array => {
  const report = makeReport({ run, record })
  if (format === 'md') return encode(renderMarkdown(report))
  return encode(`${JSON.stringify(format === 'sarif' ? renderSarif(report) : report, null, 2)}\n`)
}

/**
 * The report, and the key of the object that holds just these bytes; null where they were made for this answer.
 * Errors: NoPatch, ArtifactLost, StoreUnavailable.
 */
export const reportOfRun = async (
  ports: ReportPorts,
  run: RunItem,
  format: ReportFormat,
): Promise<{ bytes: Uint8Array; key: string | null }> => {
  if (run.status === 'ended' && format !== 'patch') {
    const key = reportKey(run.runId, format)
    const bytes = await ports.artifacts.get(key)
    // A run that has just ended writes its reports in a moment.
    if (bytes) return { bytes, key }
  }
  const record = await latestRecord(ports, run)
  if (format !== 'patch') return { bytes: render(run, record, format), key: null }
  for (const key of patchKeys(run, record)) {
    const bytes = await ports.artifacts.get(key)
    if (bytes?.byteLength) return { bytes, key }
  }
  throw new LoopError('NoPatch', `Run ${run.runId} has made no fix commit.`, { runId: run.runId })
}
