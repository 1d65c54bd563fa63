import type { SnapshotRepository } from '../workspace/snapshot-repository.ts'

export interface Move {
  /** Full name of the branch. */
  ref: string
  /** Where the branch has to be: exactly there, or (null) absent. */
  old: string | null
  /** The commit reviewed, which the repository has. */
  head: string
  /** The last fix commit, made on top of it. */
  commit: string
}

/** The branches of one repository. */
export interface Branches {
  /** Commit at the tip of a branch, by its full name; null where there is none. */
  tip(ref: string): Promise<string | null>
  /** Whether the history of `tip` holds `commit`. */
  holds(tip: string, commit: string): Promise<boolean>
  /**
   * Moves a branch to a commit of `from`; answers false where it is no longer where it has to be.
   * Errors: PushRefused, PushFailed, BranchTaken.
   */
  move(from: SnapshotRepository, move: Move): Promise<boolean>
}
