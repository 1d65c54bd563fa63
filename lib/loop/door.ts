/** The doors: what a caller may ask for, made into a canonical request. The forge is asked for every commit. */
import { agentsOf, repositoryOf } from './deployment.ts'
import { LoopError } from './errors.ts'
import type { Ports } from './ports.ts'
import type { StartBody } from './requests.ts'
import type { RunRequest } from './run.ts'
import { normaliseRepository, runIdOf } from './run-id.ts'
import { uploadKey } from './upload.ts'
import { startRun, type Started, type StartPorts } from './start.ts'

/**
 * Starts a run from a door of the deployed stack.
 * Errors: RepositoryNotAllowed, BranchGone, NotTheBranchHead, and those of `startRun`.
 */
export const startFromDoor = async (ports: StartPorts, { body, startedBy }: { body: StartBody; startedBy: string }): Promise<Started> => {
  const url = normaliseRepository(body.repository)
  const allowed = repositoryOf(ports.deployment, url)
  if (!allowed) throw new LoopError('RepositoryNotAllowed', `${url} is not a repository of this deployment.`)
  if (allowed.forge.kind === 'bundle') return startFromBundle(ports, { body, startedBy, url })
  if (body.bundle) throw new LoopError('BadRequest', `${url} is fetched: no bundle of it is taken.`)
  const head = await headOf(ports, url, body.branch)
  if (body.head && body.head !== head)
    throw new LoopError('NotTheBranchHead', `${body.head.slice(0, 12)} is not the head of ${body.branch}; that is ${head.slice(0, 12)}.`)
  const request: RunRequest = {
    repository: url,
    branch: body.branch,
    base: await headOf(ports, url, body.base ?? allowed.defaultBranch),
    head,
    overrides: body.overrides ?? {},
    attempt: 1,
    publishTo: null,
  }
  return startRun(ports, {
    request: body.again ? await nextAttempt(ports, request) : request,
    startedBy,
    checkHead: true,
    again: body.again,
  })
}

/** Of a repository that nobody can ask: who uploaded the bundle says which commits are base and head. */
const startFromBundle = async (
  ports: StartPorts,
  { body, startedBy, url }: { body: StartBody; startedBy: string; url: string },
): Promise<Started> => {
  const { branch, bundle, head, base, again, overrides = {} } = body
  if (!bundle || !head || base !== undefined)
    throw new LoopError(
      'BadRequest',
      `${url} is not fetched: give the commits \`head\` and \`bundle.base\`, and upload a bundle that holds them.`,
    )
  const request: RunRequest = { repository: url, branch, base: bundle.base, head, overrides, attempt: 1, publishTo: null }
  return startRun(ports, {
    request: again ? await nextAttempt(ports, request) : request,
    startedBy,
    checkHead: false,
    again,
    bundle: uploadKey(url, bundle.upload),
  })
}

/** Starts a run for a caller that IAM let in. Errors: those of `startFromDoor`. */
export const startFromApi = async (ports: StartPorts, given: Parameters<typeof startFromDoor>[1]): Promise<Started> => {
  const repository = repositoryOf(ports.deployment, given.body.repository)
  if (repository && !repository.triggers.api)
    throw new LoopError('RepositoryNotAllowed', `Callers with credentials start no runs of ${repository.url}: \`triggers.api\` is off.`)
  return startFromDoor(ports, given)
}

/** The commit at the tip of a branch. Errors: BranchGone, FetchFailed, FetchRefused. */
export const headOf = async (ports: StartPorts, url: string, branch: string): Promise<string> => {
  const head = await ports.forge.branchHead(url, branch)
  if (head === null) throw new LoopError('BranchGone', `The repository has no branch ${branch}.`, { branch })
  return head
}

/** The request as a new attempt, if all attempts before have ended; else the attempt that is under way. */
export const nextAttempt = async (
  ports: Pick<Ports, 'runs' | 'defaultAgents' | 'deployment'>,
  request: RunRequest,
): Promise<RunRequest> => {
  for (let attempt = request.attempt; ; attempt++) {
    const candidate = { ...request, attempt }
    const run = await ports.runs.runs.read(runIdOf(candidate, agentsOf(ports, candidate.repository)))
    if (run?.status !== 'ended') return candidate
  }
}
