/** Ports to the working copy of a turn. lib/workspace/ is the adapter: real git, confined file tools. */
import * as z from 'zod'
import type { Comparison, DiffFile } from './diff.ts'
import { NO_MISTAKES_FILE, type Policy } from './policy.ts'
import { commitId } from './run.ts'

/** Confined file tools. Paths are relative, with forward slashes; what leads out is `OutsideWorkspace`. */
export interface ReadFiles {
  /** Every file of the commit and those written since, sorted; not `.git`. */
  list(): Promise<string[]>
  /** Bytes of a regular file; null when there is none. At most `maxBytes` (default 10 MB), else `ChangeTooLarge`. */
  read(path: string, maxBytes?: number): Promise<Uint8Array | null>
}
export interface EditFiles {
  /** Creates or replaces a file, with its folders. */
  write(path: string, bytes: Uint8Array): Promise<void>
  /** Replaces the one place where `before` stands; `EditRefused` where it stands nowhere or more than once. */
  edit(path: string, before: string, after: string): Promise<void>
  remove(path: string): Promise<void>
}

export const fileChange = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('write'), path: z.string(), mode: z.enum(['100644', '100755']), content: z.base64() }),
  z.strictObject({ kind: z.literal('delete'), path: z.string() }),
])
export type FileChange = z.infer<typeof fileChange>

/** Fix commits as data: applied again on the head they give the same commit ids, or are refused (`ChangesetMismatch`). */
export const changeset = z.strictObject({
  head: commitId,
  commits: z.array(
    z.strictObject({
      id: commitId,
      message: z.string(),
      /** Seconds since 1970, UTC: fixed, so that the id is. */
      time: z.int(),
      changes: z.array(fileChange).min(1),
    }),
  ),
})
export type Changeset = z.infer<typeof changeset>
export type ChangesetCommit = Changeset['commits'][number]

/** The fixer's uncommitted work at a checkpoint. */
export const work = z.strictObject({ commit: commitId, changes: z.array(fileChange) })
export type Work = z.infer<typeof work>

/** One turn's working copy: the snapshot, the changeset applied, and nothing else. No credential is in it or near it. */
export interface Workspace {
  readonly root: string
  /** The commit that stands: the head, or the last commit of the changeset. */
  readonly commit: string
  readonly files: ReadFiles
  /** null unless opened for editing. */
  readonly edits: EditFiles | null
  /** Merge base against the commit that stands. */
  diff(): Promise<DiffFile[]>
  /** Paths that differ from the commit that stands. */
  changed(): Promise<string[]>
  /** Commits what differs, under the fixed author; null when nothing does. */
  commitAll(message: string, time: number): Promise<ChangesetCommit | null>
  /** What differs, as data; null when nothing does. */
  saveWork(): Promise<Work | null>
  /** Head against the commit that stands, as text that `git apply` takes (binary included); '' when nothing was committed. */
  patch(): Promise<string>
  /** Back to the turn's start: the commit, and the work it was opened with. */
  restore(): Promise<void>
  /** Back to the commit alone. The work it was opened with is forgotten, by later calls of `restore` too: its checkpoint was lost. */
  restoreCommit(): Promise<void>
  /** Removes the working copy. */
  close(): Promise<void>
}

/** What Prepare found, stored as `source/<run>/…`: the pack with merge base and head, and what belongs to it. */
export const sourceInfo = z.strictObject({
  mergeBase: commitId,
  head: commitId,
  base: commitId,
  /** Artifact key of the pack. */
  pack: z.string(),
  /** Raw text of the settings file at the tip of the base branch; null where there is none. */
  settings: z.string().nullable(),
  /** The file that the settings are from, where it is not ours. */
  settingsFile: z.literal(NO_MISTAKES_FILE).optional(),
  /** True where the head has a settings file that differs from the base's: it is not used, and that is said. */
  headSettingsDiffer: z.boolean(),
  /** When the head was committed, seconds since 1970. Fix commits count from it, so that the same fixes are the same commits. */
  headTime: z.int().min(0),
  /** Changed files. */
  files: z.int().min(0),
  empty: z.boolean(),
})
export type SourceInfo = z.infer<typeof sourceInfo>
/** What came on a branch since it was last certified, and how much of it a night reviews. */
export interface NightSpan {
  /** Up to where the branch was certified; null: a first night. */
  since: string | null
  /** As `since`, before the first of the fixes that are on `target`; null where they came of a first night. */
  from: string | null
  /** Tip of `target` as an approved run left it. */
  certifiedTip: string | null
  /** Branch that holds the fixes of all nights, without refs/heads/. */
  target: string
  /** Commits that runs have published on behalf of the branch. */
  ours: readonly string[]
  /** The branch is the default branch: there is no other to compare a first night with. */
  isDefault: boolean
  most: { commits: number; files: number; bytes: number }
}
export interface FetchedNight {
  /** Where `target` is; null where it is not there. */
  tip: string | null
  /** Its fixes as a commit on the head; null where there are none to carry over. */
  carried: ChangesetCommit | null
  /** Commits of the branch that are left to the nights after. */
  left: number
  /** Said to people. */
  notices: string[]
}

/** What a base branch has in the way of settings. */
export type BaseSettings = Pick<SourceInfo, 'settings' | 'settingsFile'>

export interface FetchedSource extends Omit<SourceInfo, 'pack'> {
  night?: FetchedNight
  pack: Uint8Array
  /** Commits between merge base and head, the newest first, at most 1,000. */
  history: string[]
  /** Messages of the newest of them, in the same order, cut to a bound. */
  messages: string[]
}

export interface Workspaces {
  /**
   * Fetches once, within limits on bytes, files and depth, and gives the snapshot. The credential is used here and goes no further.
   * Errors: FetchFailed, FetchRefused, BundleRefused, NoCommit, BaseUnreachable, ChangeTooLarge, GitTimedOut;
   * NightBranchMoved.
   */
  fetch(
    /** `bundle` holds the commits, so that nothing is fetched; absent or null: the repository is asked. */
    source: { repository: string; branch: string | null; base: string; head: string; bundle?: Uint8Array | null; night?: NightSpan },
    /** Limits by the settings file's text at the tip of the base branch, which is the first thing fetched. */
    limits: (settings: BaseSettings) => Policy['limits'],
    signal: AbortSignal,
  ): Promise<FetchedSource>
  /** Diffs alone, without a working copy. Errors: GitFailed, GitTimedOut, ChangesetMismatch. */
  compare(options: {
    info: SourceInfo
    pack: Uint8Array
    changeset: Changeset | null
    limits: Policy['limits']
    signal: AbortSignal
  }): Promise<Comparison>
  open(options: {
    info: SourceInfo
    pack: Uint8Array
    changeset: Changeset | null
    work: Work | null
    editable: boolean
    limits: Policy['limits']
    deadline: number
    signal: AbortSignal
  }): Promise<Workspace>
}
