/** What every turn of a role begins with and ends with: source, record and workspace opened; spent, limits and record written. */
import { readBytes, readJson } from './artifact.ts'
import type { DiffFile } from './diff.ts'
import { LoopError } from './errors.ts'
import { isIgnored } from './finding-policy.ts'
import { lineTextOf, normalisePath } from './findings.ts'
import type { FindingDraft } from './finding.ts'
import type { Policy } from './policy.ts'
import type { Invocation, Ports } from './ports.ts'
import type { RunRecord } from './record.ts'
import { loadRecord } from './run-record.ts'
import type { RunState } from './run.ts'
import { loadSource, type PreparedSource } from './source.ts'
import type { Claimed } from './turns.ts'
import { type Changeset, changeset as changesetSchema, type Work, work as workSchema, type Workspace } from './workspace.ts'

export interface Scene {
  source: PreparedSource
  policy: Policy
  record: RunRecord
  changeset: Changeset | null
  workspace: Workspace
  /** Merge base against the commit that stands, without what the policy ignores. */
  diff: DiffFile[]
  /** Why the uncommitted work that the turn was to go on from is not there. */
  lost?: string
}

type ScenePorts = Pick<Ports, 'artifacts' | 'workspaces'>

/** Opens the turn's working copy from snapshot and changeset, gives it to `act`, and removes it whatever happens. */
export const onScene = async <T>(
  ports: ScenePorts,
  state: RunState,
  options: { editable: boolean; work: string | null },
  invocation: Invocation,
  act: (scene: Scene) => Promise<T>,
): Promise<T> => {
  if (!state.source) throw new LoopError('ArtifactLost', `Run ${state.runId} has no source.`, { runId: state.runId })
  const source = await loadSource(ports.artifacts, state.source)
  const [record, changeset, work, pack] = await Promise.all([
    loadRecord(ports, state),
    state.changeset ? readJson(ports.artifacts, state.changeset, changesetSchema) : null,
    options.work ? readWork(ports, options.work) : { work: null },
    readBytes(ports.artifacts, source.info.pack),
  ])
  const { policy } = source
  const workspace = await ports.workspaces.open({
    info: source.info,
    pack,
    changeset,
    work: work.work,
    editable: options.editable,
    limits: policy.limits,
    deadline: invocation.deadline,
    signal: invocation.signal,
  })
  try {
    const diff = (await workspace.diff()).filter((file) => !isIgnored(policy, file.path))
    return await act({ source, policy, record, changeset, workspace, diff, ...('lost' in work ? { lost: work.lost } : {}) })
  } finally {
    await workspace.close()
  }
}

/** Lost work costs a fallback and not the turn. */
const readWork = async (ports: ScenePorts, key: string): Promise<{ work: Work | null; lost?: string }> => {
  try {
    return { work: await readJson(ports.artifacts, key, workSchema) }
  } catch (error) {
    if (error instanceof LoopError && error.name === 'ArtifactLost')
      return { work: null, lost: 'the uncommitted work is missing or damaged' }
    throw error
  }
}

/** What every agent's turn is given. It ends with the invocation, or earlier where the policy allows a turn less. */
export const agentTurn = ({ input, ...claimed }: Claimed, scene: Scene, invocation: Invocation, now: number) => {
  const { limits } = scene.policy
  return {
    claimed: { input, ...claimed },
    record: scene.record,
    workspace: scene.workspace,
    deadline: Math.min(invocation.deadline, now + limits.turn_minutes * 60_000),
    signal: invocation.signal,
    progress: invocation.progress,
    budget: {
      tokens: Math.min(limits.turn_tokens, Math.max(0, limits.tokens - input.spent.tokens)),
      dollars: Math.min(limits.turn_dollars, Math.max(0, limits.dollars - (input.spent.dollars ?? 0))),
      calls: limits.turn_calls,
    },
    ...(scene.lost === undefined ? {} : { lost: scene.lost }),
  }
}

/** What drafts are checked against. The contents of the files they name are read once, confined; a path that is refused is no file. */
export const findingContext = async (scene: Pick<Scene, 'workspace' | 'diff'>, drafts: readonly FindingDraft[]) => {
  const contents = new Map<string, string>()
  const known = new Set(await scene.workspace.files.list())
  for (const { file } of drafts) {
    const place = normalisePath(file)
    if (!('path' in place) || contents.has(place.path) || !known.has(place.path)) continue
    const bytes = await scene.workspace.files.read(place.path).catch(() => null)
    if (bytes) contents.set(place.path, new TextDecoder().decode(bytes))
  }
  const symlinks = new Set(scene.diff.filter((file) => file.newMode === '120000').map((file) => file.path))
  return { diff: scene.diff, files: known, isSymlink: (path: string) => symlinks.has(path), lineText: lineTextOf(contents) }
}
