/** Reviews by the clock: what came on a branch since nights last certified it, and how far they have come. */
import { agentsOf, type DeployedRepository, repositoryOf } from './deployment.ts'
import { headOf } from './door.ts'
import { asLoopError, LoopError } from './errors.ts'
import type { NightItem, RunItem } from './items.ts'
import type { Ports } from './ports.ts'
import type { RunRequest } from './run.ts'
import { branchKeyOf, normaliseRepository, runIdOf } from './run-id.ts'
import { loadSource } from './source.ts'
import { startRun, type StartPorts } from './start.ts'

const KEEP_SECONDS = 400 * 24 * 3600
const TRIES = 8

/** Nobody is there to ask at night, and what counts as certified has to be. */
const UNATTENDED = { ask: 'never', certify: 'auto' } as const

/** The one branch that holds the fixes of all nights of a branch, without refs/heads/. */
export const nightBranch = (branch: string): string => `reviewloop/nightly-${branch}`

/** What a schedule came to: a run, or why there is none. */
export type Night = { run: RunItem; started: boolean } | { run: null; started: false; why: string }

/**
 * Starts the nightly run of a repository, of what is new on its branch; nothing new, no run. A night that comes again, or a head whose
 * run came to a verdict, gives that run; a run that failed, or was ended, is tried again the next night. `at`: when it was scheduled.
 * Errors: RepositoryNotAllowed, BadRequest (it has no schedule), BranchGone, and those of `startRun` but BudgetExceeded.
 */
export const startNight = async (
  ports: StartPorts,
  { repository, at }: { repository: string; at?: string | undefined },
): Promise<Night> => {
  const deployed = repositoryOf(ports.deployment, repository)
  if (!deployed) throw new LoopError('RepositoryNotAllowed', `${repository} is not a repository of this deployment.`)
  const request = await requestOf(ports, deployed)
  const { since, certifiedTip } = request.night ?? {}
  if (request.head === since || request.head === certifiedTip)
    return none(ports, `Nothing is new on ${request.branch}: ${request.head.slice(0, 12)} is certified.`)
  try {
    return await startRun(ports, { request: await tonight(ports, request, at), startedBy: 'schedule', checkHead: true })
  } catch (thrown) {
    const error = asLoopError(thrown)
    // Trying again would not make room, and people have been told.
    if (error.name !== 'BudgetExceeded') throw error
    return none(ports, error.message)
  }
}

const none = ({ effects }: Pick<Ports, 'effects'>, why: string): Night => {
  effects.log('info', 'no run this night', { why })
  return { run: null, started: false, why }
}

const requestOf = async (ports: StartPorts, { url, defaultBranch, triggers: { schedule } }: DeployedRepository): Promise<RunRequest> => {
  if (!schedule) throw new LoopError('BadRequest', `${url} has no schedule.`)
  const { branch, ...most } = schedule
  const repository = normaliseRepository(url)
  const head = await headOf(ports, repository, branch)
  const known = await ports.runs.nights.read(branchKeyOf(repository, branch))
  return {
    repository,
    branch,
    base: branch === defaultBranch ? head : await headOf(ports, repository, defaultBranch),
    head,
    overrides: UNATTENDED,
    attempt: 1,
    publishTo: nightBranch(branch),
    night: {
      since: known?.certified ?? null,
      from: known?.from ?? null,
      certifiedTip: known?.tip ?? null,
      isDefault: branch === defaultBranch,
      most,
    },
  }
}

/** The request, as a new attempt where the one before came to no verdict of its own in an earlier night. */
const tonight = async (ports: StartPorts, request: RunRequest, at: string | undefined): Promise<RunRequest> => {
  for (let { attempt } = request; ; attempt++) {
    const candidate = { ...request, attempt }
    const run = await ports.runs.runs.read(runIdOf(candidate, agentsOf(ports, candidate.repository)))
    const failed = run?.status === 'ended' && !['approved', 'changes-requested'].includes(run.verdict?.outcome ?? '')
    const earlier = run !== null && (at === undefined || Date.parse(run.createdAt) < Date.parse(at))
    if (!failed || !earlier) return candidate
  }
}

/**
 * Moves the mark of a branch over what an approved nightly run has reviewed. Only from where the run began: another mark is somebody
 * else's, and a mark that is not moved means no more than that some of it is reviewed again.
 * Errors: StoreConflict, StoreUnavailable.
 */
export const rememberNight = async (
  ports: Pick<Ports, 'runs' | 'artifacts' | 'effects'>,
  key: string,
  run: RunItem,
  source: string | null,
): Promise<void> => {
  const { night } = run.request
  if (!night || run.verdict?.outcome !== 'approved' || source === null) return
  const reached = await reachedBy(ports, run, night, source)
  if (!reached) return
  for (let tries = 0; tries < TRIES; tries++) {
    const old = await ports.runs.nights.read(key)
    if ((old?.certified ?? null) !== night.since) return
    const { effects } = ports
    const next: NightItem = {
      key,
      rev: (old?.rev ?? 0) + 1,
      nonce: effects.nonce(),
      ...reached,
      run: run.runId,
      ttl: Math.floor(effects.now() / 1000) + KEEP_SECONDS,
    }
    if (await ports.runs.nights.write(key, next)) return
  }
  throw new LoopError('StoreConflict', 'Others keep writing the mark of this branch.', { key })
}

const reachedBy = async (
  ports: Pick<Ports, 'artifacts' | 'effects'>,
  { runId, publishing }: RunItem,
  night: NonNullable<RunRequest['night']>,
  key: string,
): Promise<Pick<NightItem, 'certified' | 'tip' | 'from'> | null> => {
  try {
    const { info, night: found } = await loadSource(ports.artifacts, key)
    const isOnTop = found?.carried === true && info.mergeBase === found.tip
    const tip = publishing?.commit ?? (found?.carried ? found.tip : null)
    return { certified: info.head, tip, from: tip === null ? null : isOnTop ? night.from : info.mergeBase }
  } catch (thrown) {
    const error = asLoopError(thrown)
    if (error.name !== 'ArtifactLost') throw error
    ports.effects.log('warn', 'the night is not remembered: its commits are reviewed again', { runId, error: error.message })
    return null
  }
}
