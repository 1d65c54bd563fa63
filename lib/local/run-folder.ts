/** What a person can open of a run: `runs/<run>/report.{json,md,sarif,patch}` in the data folder, whether the run ended or is parked. */
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { close, patchKey, readReport, reportKey } from '../loop/close.ts'
import type { RunItem } from '../loop/items.ts'
import type { Ports } from '../loop/ports.ts'
import { renderMarkdown } from '../loop/report-markdown.ts'
import { renderSarif } from '../loop/report-sarif.ts'
import { makeReport, type Report } from '../loop/report.ts'
import { standing } from '../loop/resume.ts'
import { loadRecord } from '../loop/run-record.ts'
import type { RunState } from '../loop/run.ts'

export interface RunFiles {
  folder: string
  report: Report
  /** Absolute paths, by format; no patch where no fix was committed. */
  paths: { json: string; md: string; sarif: string; patch: string | null }
}

type FolderPorts = Pick<Ports, 'runs' | 'sessions' | 'artifacts' | 'effects' | 'announce' | 'notify' | 'deployment'>

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)

export const runFolder = (dataFolder: string, runId: string): string => join(dataFolder, 'runs', runId)

/** The report of a run as it stands now. */
export const reportOf = async (ports: FolderPorts, run: RunItem): Promise<{ report: Report; state: RunState }> => {
  const state = await standing(ports, run)
  const record = await loadRecord(ports, { record: run.record ?? state.record, source: state.source })
  return { report: makeReport({ run, record }), state }
}

/** Reports of an ended run are those that Close stored; an end that was cut off between its item and its reports is made whole. */
const endedFiles = async (ports: FolderPorts, run: RunItem, state: RunState): Promise<Record<'json' | 'md' | 'sarif', Uint8Array>> => {
  const stored = await Promise.all((['json', 'md', 'sarif'] as const).map((format) => ports.artifacts.get(reportKey(run.runId, format))))
  if (!run.closed || stored.some((bytes) => bytes === null))
    await close(ports, { ...state, epoch: run.epoch, next: 'Close', verdict: run.verdict })
  const [json, md, sarif] = await Promise.all((['json', 'md', 'sarif'] as const).map((format) => readReport(ports, run.runId, format)))
  return { json: json!, md: md!, sarif: sarif! }
}

/** Writes the run's folder anew and tells what is in it. */
export const writeRunFolder = async (ports: FolderPorts, dataFolder: string, run: RunItem): Promise<RunFiles> => {
  const { report, state } = await reportOf(ports, run)
  const folder = runFolder(dataFolder, run.runId)
  const patch = state.changeset ? await ports.artifacts.get(patchKey(state.changeset)) : null
  const files =
    run.status === 'ended'
      ? await endedFiles(ports, run, state)
      : {
          json: bytesOf(`${JSON.stringify(report, null, 2)}\n`),
          md: bytesOf(renderMarkdown(report)),
          sarif: bytesOf(`${JSON.stringify(renderSarif(report), null, 2)}\n`),
        }
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const pathOf = (format: string) => join(folder, `report.${format}`)
  for (const [format, bytes] of Object.entries({ ...files, ...(patch?.byteLength ? { patch } : {}) })) await replace(pathOf(format), bytes)
  if (!patch?.byteLength) await rm(pathOf('patch'), { force: true })
  return {
    folder,
    report,
    paths: { json: pathOf('json'), md: pathOf('md'), sarif: pathOf('sarif'), patch: patch?.byteLength ? pathOf('patch') : null },
  }
}

/** A reader sees the old file or the new one, never a part. */
const replace = async (path: string, bytes: Uint8Array): Promise<void> => {
  await writeFile(`${path}.new`, bytes, { mode: 0o600 })
  await rename(`${path}.new`, path)
}
