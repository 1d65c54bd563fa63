/** The door for jobs of a CI, which start runs of their own repository and of no other branch than theirs. */
import type { CiJob } from './ci-claims.ts'
import { startFromDoor } from './door.ts'
import { LoopError } from './errors.ts'
import type { CiStartBody } from './requests.ts'
import type { Started } from './start.ts'

/** Errors: CallerRefused, BadRequest, and those of `startFromDoor`. */
export const startFromCi = async (ports: Parameters<typeof startFromDoor>[0], job: CiJob, body: CiStartBody): Promise<Started> => {
  if (job.bound && body.branch !== undefined && body.branch !== job.branch)
    throw new LoopError('CallerRefused', `The job runs for the branch ${job.branch}, and may ask for no other.`)
  const branch = body.branch ?? job.branch
  if (!branch) throw new LoopError('BadRequest', 'The job runs for no branch: name one as `branch`.')
  if (job.mayBeForeign && !body.head)
    throw new LoopError('BadRequest', 'Name the head of the pull or merge request as `head`: the commit of the job is another.')
  return startFromDoor(ports, {
    body: {
      repository: job.repository.url,
      branch,
      again: body.again,
      overrides: body.ask ? { ask: body.ask } : {},
      ...(job.base ? { base: job.base } : {}),
      ...(body.head ? { head: body.head } : {}),
    },
    startedBy: job.name,
  })
}
