/** State Publish: the verdict is read from the items of reviewer and certifier, and what is pushed is recorded before it is. */
import { isDeepStrictEqual } from 'node:util'
import { readBytes, readJson } from './artifact.ts'
import { rememberPublished } from './branch.ts'
import { assertCurrent, changeRun, readCurrentRun } from './current-run.ts'
import { repositoryOf } from './deployment.ts'
import { LoopError } from './errors.ts'
import type { RunItem, TurnItem } from './items.ts'
import type { Invocation, Ports } from './ports.ts'
import { readItems } from './resume.ts'
import { branchKeyOf } from './run-id.ts'
import { loadRecord } from './run-record.ts'
import type { RunState, Verdict } from './run.ts'
import { loadSource } from './source.ts'
import { verdictFromItems } from './verdict.ts'
import { changeset as changesetSchema } from './workspace.ts'

type PublishPorts = Pick<Ports, 'runs' | 'sessions' | 'artifacts' | 'forge' | 'effects' | 'deployment'>

/** Branch that the fixes are put on, without refs/heads/. */
export const fixBranch = (run: Pick<RunItem, 'runId' | 'request'>): string => run.request.publishTo ?? `reviewloop/${run.runId}`

/**
 * Where the fixes of a run go. A deployment may have those that were approved put onto the very branch that was reviewed; what was not
 * approved, and whatever would go onto the default branch, has a branch of its own. Once it is recorded it stays.
 */
const targetOf = ({ deployment }: PublishPorts, run: RunItem, verdict: Verdict): string => {
  if (run.publishing) return run.publishing.ref
  const { branch, publishTo, repository } = run.request
  const deployed = repositoryOf(deployment, repository)
  const isOnto = deployed?.publish === 'reviewed-branch' && verdict.outcome === 'approved' && branch !== deployed.defaultBranch
  return publishTo === null && isOnto && branch !== null ? branch : fixBranch(run)
}

/** The state of the latest finished turn: what the items say, not what the input says. */
const latestOf = (items: readonly (TurnItem | null)[]): RunState | null =>
  items.flatMap((item) => (item?.done ? [item.done] : [])).sort((a, b) => b.turn - a.turn)[0]?.state ?? null

/**
 * Errors: StaleExecution, BranchGone, HeadMoved, BranchTaken, ChangesetMismatch, PushFailed, PushRefused, FetchFailed, ArtifactLost.
 */
export const publish = async (ports: PublishPorts, state: RunState, invocation: Invocation): Promise<RunState> => {
  const run = await readCurrentRun(ports.runs, state)
  const [reviewer = null, fixer = null, certifier = null] = await readItems(ports, state.runId)
  const latest = latestOf([reviewer, fixer, certifier])
  const verdict = latest ? verdictFromItems({ reviewer, fixer, certifier, run }) : await nothingToReview(ports, state)
  if (!verdict) throw new LoopError('Unexpected', 'Publish was entered, but the items of the run hold no verdict.')
  assertOpen(run, verdict)
  // Of a repository that is not fetched nothing is published either: its fixes are the patch of the report.
  if (latest?.changeset && run.bundle === null) await push(ports, run, verdict, latest, invocation)
  await changeRun(ports, state.runId, (current) => {
    assertCurrent(current, state)
    assertOpen(current, verdict)
    return { verdict, status: 'running', record: latest?.record ?? current.record }
  })
  return { ...(latest ?? state), epoch: state.epoch, source: state.source, decision: null, next: 'Close', verdict }
}

/** The first verdict stands: one whose execution has given up on this worker, and recorded a failure, publishes no more. */
const assertOpen = ({ runId, verdict: recorded }: RunItem, verdict: Verdict): void => {
  if (recorded && !isDeepStrictEqual(recorded, verdict)) throw new LoopError('StaleExecution', `Run ${runId} has its verdict.`, { runId })
}

const nothingToReview = async (ports: PublishPorts, state: RunState): Promise<Verdict | null> => {
  const { info } = await loadSource(ports.artifacts, state.source ?? '')
  return info.empty ? { outcome: 'approved', reason: 'nothing-to-review', by: null, error: null } : null
}

const push = async (ports: PublishPorts, run: RunItem, verdict: Verdict, latest: RunState, invocation: Invocation): Promise<void> => {
  const { request } = run
  const target = targetOf(ports, run, verdict)
  const [{ info, night }, changeset, record] = await Promise.all([
    loadSource(ports.artifacts, latest.source ?? ''),
    readJson(ports.artifacts, latest.changeset ?? '', changesetSchema),
    loadRecord(ports, latest),
  ])
  await changeRun(ports, run.runId, (current) => {
    assertCurrent(current, run)
    assertOpen(current, verdict)
    return { publishing: { ref: target, commit: latest.commit } }
  })
  // Before the push: a webhook for our own head may come in before the push has answered.
  const published = {
    run: run.runId,
    commits: changeset.commits.map((commit) => commit.id),
    fixed: record.findings.filter((finding) => finding.status === 'fixed').map((finding) => finding.id),
  }
  // Under both branches: a pull request of ours comes in as one of the branch that holds the fixes.
  const branches = new Set([request.branch ?? request.head, target])
  for (const branch of branches) await rememberPublished(ports, branchKeyOf(request.repository, branch), published)
  invocation.progress(`pushing ${changeset.commits.length} fix commit(s) to ${target}`)
  const pack = await readBytes(ports.artifacts, info.pack)
  const outcome = await ports.forge.publish({
    repository: request.repository,
    branch: request.branch,
    // Of a night it may be one before the head of the branch.
    head: info.head,
    target,
    commit: latest.commit,
    info,
    pack,
    changeset,
    ...(night && { replaces: night.tip }),
    signal: invocation.signal,
  })
  ports.effects.log('info', `fix commits ${outcome}`, { runId: run.runId, ref: target, commit: latest.commit })
}
