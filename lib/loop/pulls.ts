/** Port to a forge that has pull requests, as far as commands in comments need it. Adapter: lib/forge/github-pulls.ts. */
import type { DeployedRepository } from './deployment.ts'

/** A pull request as its forge has it now. */
export interface PullRequest {
  branch: string
  base: string
  open: boolean
  /** Its branch is of another repository. */
  fork: boolean
}

/** What is asked of a forge that has pull requests, with a credential that only reads. Errors: FetchFailed, FetchRefused. */
export interface PullRequests {
  /** null: there is none under that number. */
  pull(repository: DeployedRepository, number: number): Promise<PullRequest | null>
  /** Whether a person may write to the repository. */
  mayWrite(repository: DeployedRepository, login: string): Promise<boolean>
}
