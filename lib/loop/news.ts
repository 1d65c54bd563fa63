/** How a run stands, made from its items and its record, as a forge is to be told. */
import { readBytes, readJson } from './artifact.ts'
import type { Comparison } from './diff.ts'
import { asLoopError } from './errors.ts'
import type { RunItem } from './items.ts'
import type { Ports } from './ports.ts'
import { makeReport } from './report.ts'
import { standing } from './resume.ts'
import { loadRecord } from './run-record.ts'
import type { RunState } from './run.ts'
import { loadSource } from './source.ts'
import { isPublished, type News } from './telling.ts'
import { changeset as changesetSchema } from './workspace.ts'

export type NewsPorts = Pick<Ports, 'runs' | 'sessions' | 'artifacts' | 'workspaces'>

const phaseOf = (run: RunItem, { turn, next }: RunState, begun: boolean): News['phase'] => {
  if (run.verdict) return 'ended'
  if (run.status === 'parked') return 'parked'
  return begun || turn > 0 || next !== 'Prepare' || run.decision ? 'running' : 'queued'
}

/** `begun`: the run is known to be at work, though its items do not show it yet. Errors: StoreUnavailable. */
export const newsOf = async (ports: NewsPorts, run: RunItem, begun: boolean): Promise<News> => {
  const state = await standing(ports, run)
  const record = await loadRecord(ports, { record: run.record, source: null }).catch((thrown: unknown) => {
    if (asLoopError(thrown).name !== 'ArtifactLost') throw thrown
    return null
  })
  const last = record?.commits.at(-1)?.id
  const report = makeReport({ run, record })
  const pushed = run.publishing && last && isPublished(report.outcome) ? run.publishing : null
  return {
    runId: run.runId,
    request: run.request,
    phase: phaseOf(run, state, begun),
    // As Close will write it, whichever of the two is sooner.
    report: { ...report, fixes: report.fixes && { ...report.fixes, branch: pushed?.ref ?? null } },
    question: report.question,
    decision: report.decisions.findLast(({ question }) => question === run.question?.id) ?? null,
    commit: last ?? run.request.head,
    pushed,
    compare: (signal) => compare(ports, state, last !== undefined, signal),
  }
}

/** null: the run was never prepared, so there is nothing to compare. */
const compare = async (ports: NewsPorts, state: RunState, hasFixes: boolean, signal: AbortSignal): Promise<Comparison | null> => {
  if (!state.source) return null
  const { info, policy } = await loadSource(ports.artifacts, state.source)
  const [pack, changeset] = await Promise.all([
    readBytes(ports.artifacts, info.pack),
    hasFixes && state.changeset ? readJson(ports.artifacts, state.changeset, changesetSchema) : null,
  ])
  return ports.workspaces.compare({ info, pack, changeset, limits: policy.limits, signal })
}
