/** The doors: what a caller may ask for, made into a canonical request. The forge is asked for every commit. */
import * as z from 'zod'
import { agentsOf, repositoryOf } from './deployment.ts'
import { LoopError } from './errors.ts'
import type { Ports } from './ports.ts'
import { commitId, type RunRequest, runRequest } from './run.ts'
import { normaliseRepository, runIdOf } from './run-id.ts'
import { startRun, type Started, type StartPorts } from './start.ts'

const branchName = z.string().min(1).max(255)

/** Body of POST /runs. */
export const startBody = z.strictObject({
  repository: z.string().min(1).max(2048),
  branch: branchName,
  /** Branch to compare with; the repository's default branch when left out. */
  base: branchName.optional(),
  /** Commit that has to be the head of the branch; its head when left out. */
  head: commitId.optional(),
  overrides: runRequest.shape.overrides.optional(),
  /** An explicit re-request: a new attempt where the same request has ended before. */
  again: z.boolean().default(false),
})
export type StartBody = z.infer<typeof startBody>

/**
 * Starts a run from a door of the deployed stack.
 * Errors: RepositoryNotAllowed, BranchGone, NotTheBranchHead, and those of `startRun`.
 */
export const startFromDoor = async (ports: StartPorts, { body, startedBy }: { body: StartBody; startedBy: string }): Promise<Started> => {
  const url = normaliseRepository(body.repository)
  const allowed = repositoryOf(ports.deployment, url)
  if (!allowed) throw new LoopError('RepositoryNotAllowed', `${url} is not a repository of this deployment.`)
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

const headOf = async (ports: StartPorts, url: string, branch: string): Promise<string> => {
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
