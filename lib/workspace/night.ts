/** What a night reviews: a part of what came since the last certified commit, together with the fixes of earlier nights. */
import { LoopError } from '../loop/errors.ts'
import type { Policy } from '../loop/policy.ts'
import type { ChangesetCommit, FileChange, FetchedNight, NightSpan } from '../loop/workspace.ts'
import { commitChanges } from './changeset.ts'
import { changedFiles, DIFF } from './diff-read.ts'
import { parseRaw } from './diff-raw.ts'
import { git, gitText, runGit, type GitOptions } from './git.ts'
import { findMergeBase, hasCommit, shallowCommits } from './merge-base.ts'
import type { SnapshotRepository } from './snapshot-repository.ts'

export interface NightPlan extends FetchedNight {
  mergeBase: string
  /** The commit that is reviewed: the head of the branch, or one before it. */
  head: string
}

const MESSAGE = 'Carry the fixes of earlier nights over\n'
const short = (commit: string): string => commit.slice(0, 12)

const isAncestor = async (ancestor: string, commit: string, options: GitOptions): Promise<boolean> =>
  (await runGit(['merge-base', '--is-ancestor', ancestor, commit], options)).code === 0

const lines = async (args: string[], options: GitOptions): Promise<string[]> => (await gitText(args, options)).split('\n').filter(Boolean)

/** A head from before 1970, or with no time that can be read, counts as of 1970. */
export const timeOf = async (head: string, options: GitOptions): Promise<number> =>
  Math.max(0, Math.trunc(Number(await gitText(['show', '-s', '--format=%ct', head], options))) || 0)

/** Whether enough history is here to plan: the merge bases that `planNight` asks for are certain. */
export const hasNight = async (
  { gitDir, options }: SnapshotRepository,
  { span, head, tip }: { span: NightSpan; head: string; tip: string | null },
): Promise<boolean> => {
  for (const other of [span.since, span.from, tip]) {
    if (other === null) continue
    if (!(await hasCommit(gitDir, other, options)) || (await findMergeBase(gitDir, other, head, options)).kind === 'deeper') return false
  }
  if (span.since !== null || !span.isDefault) return true
  const wanted = span.most.commits + 1
  return (await lines(['rev-list', '--first-parent', `--max-count=${wanted}`, head], options)).length === wanted
}

/** Whether the diff is within what one night reviews. */
const fits = async (from: string, to: string, most: { files: number; bytes: number }, options: GitOptions): Promise<boolean> => {
  if ((await changedFiles(from, to, options)).length > most.files) return false
  let bytes = 0
  await runGit([...DIFF, '--patch', from, to], { ...options, onStdout: (chunk) => void (bytes += chunk.length) })
  return bytes <= most.bytes
}

/** The furthest commit of the branch itself that is within the bounds; the first one is taken whatever it holds, or no night would get past it. */
const furthest = async (
  start: string,
  head: string,
  { most }: NightSpan,
  limits: Policy['limits'],
  options: GitOptions,
): Promise<{ head: string; left: number }> => {
  const chain = await lines(['rev-list', '--first-parent', '--reverse', head, `^${start}`], options)
  const bounds = { files: Math.min(most.files, limits.files), bytes: Math.min(most.bytes, limits.diff_bytes) }
  const at = (count: number): string => chain[count - 1] ?? head
  let [low, high] = [Math.min(1, chain.length), Math.min(most.commits, chain.length)]
  if (high > low && (await fits(start, at(high), bounds, options))) low = high
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (await fits(start, at(middle), bounds, options)) low = middle
    else high = middle
  }
  return { head: at(low), left: chain.length - low }
}

/** Where the review begins, and what is to be said of it. */
const startOf = async (
  { gitDir, options }: SnapshotRepository,
  span: NightSpan,
  since: string | null,
  { head, mergeBase }: { head: string; mergeBase: string },
): Promise<{ start: string; notices: string[] }> => {
  if (since !== null && (await hasCommit(gitDir, since, options))) {
    const found = await findMergeBase(gitDir, since, head, options)
    if (found.kind === 'found') return { start: found.commit, notices: [] }
  }
  // Out of sight is not gone: as a first night, what lies between would never be reviewed.
  if (since !== null && (await shallowCommits(gitDir)).size > 0)
    throw new LoopError('BaseUnreachable', `${short(since)}, up to which the branch was certified, is deeper than limits.depth.`, {
      base: since,
      limit: 'limits.depth',
    })
  const lost = since === null ? [] : [`${short(since)}, up to which the branch was certified, is no longer in its history.`]
  if (!span.isDefault) return { start: mergeBase, notices: lost }
  const chain = await lines(['rev-list', '--first-parent', `--max-count=${span.most.commits + 1}`, head], options)
  const start = chain.at(-1) ?? head
  return {
    start,
    notices: [...lost, `A first night: reviewed is what came after ${short(start)}; what was there before is taken as it is.`],
  }
}

/** The fixes of earlier nights as one commit on `head`; null where they cannot be merged with it, 'nothing' where it has them already. */
const carry = async (
  repository: SnapshotRepository,
  { head, tip, time }: { head: string; tip: string; time: number },
): Promise<ChangesetCommit | 'nothing' | null> => {
  const { options } = repository
  const merged = await runGit(['merge-tree', '--write-tree', '--no-messages', head, tip], options)
  if (merged.code !== 0) return null
  const tree = merged.stdout.toString('utf8').trim()
  const changes: FileChange[] = []
  for (const { path, status, newMode, newId } of parseRaw(
    await git(['diff-tree', '-r', '-z', '--raw', '--no-renames', '--full-index', head, tree], options),
  )) {
    if (status === 'D') changes.push({ kind: 'delete', path })
    else if ((newMode === '100644' || newMode === '100755') && newId !== null)
      changes.push({ kind: 'write', path, mode: newMode, content: (await git(['cat-file', 'blob', newId], options)).toString('base64') })
    else return null
  }
  if (!changes.length) return 'nothing'
  await git(['read-tree', head], options)
  return (await commitChanges(repository, head, { message: MESSAGE, time, changes })) ?? 'nothing'
}

/** A branch on which only our commits are, or whose commits are all in the reviewed one, may be written anew; any other is a person's. */
const assertOurs = async (span: NightSpan, tip: string, head: string, options: GitOptions): Promise<boolean> => {
  const merged = await isAncestor(tip, head, options)
  if (merged || span.ours.includes(tip)) return merged
  throw new LoopError('NightBranchMoved', `Somebody has pushed onto ${span.target}, which is at ${short(tip)}.`, {
    branch: span.target,
    tip,
  })
}

/** Whether the fixes stand on the branch as it is: merged from a history that it no longer has, they would bring that back. */
const standsOn = async (span: NightSpan, tip: string, head: string, options: GitOptions): Promise<boolean> =>
  (await lines(['rev-list', tip, `^${head}`], options)).every((commit) => span.ours.includes(commit))

/**
 * Plans a night on a repository that `hasNight`. A certified fix commit of earlier nights is what the diff is taken from, so that only
 * what is new is reviewed; where it cannot be carried over, all that its branch covers is reviewed again.
 * Errors: NightBranchMoved, BaseUnreachable.
 */
export const planNight = async (
  repository: SnapshotRepository,
  at: { span: NightSpan; head: string; mergeBase: string; tip: string | null },
  limits: Policy['limits'],
): Promise<NightPlan> => {
  const { options } = repository
  const { span, tip } = at
  const merged = tip !== null && (await assertOurs(span, tip, at.head, options))
  const partFrom = async (since: string | null) => {
    const { start, notices } = await startOf(repository, span, since, at)
    const { head, left } = await furthest(start, at.head, span, limits, options)
    const rest =
      left === 0
        ? []
        : [`${left} newer commit(s) of the branch are over what one night reviews and left to the next; reviewed is up to ${short(head)}.`]
    return { start, head, left, notices: [...notices, ...rest] }
  }
  const part = await partFrom(span.since)
  const alone = { ...part, mergeBase: part.start, tip, carried: null }
  if (tip === null) return alone
  const certified = tip === span.certifiedTip
  if (merged) return certified && (await isAncestor(tip, part.head, options)) ? { ...alone, mergeBase: tip } : alone
  const stands = await standsOn(span, tip, at.head, options)
  const carried = stands ? await carry(repository, { head: part.head, tip, time: await timeOf(part.head, options) }) : null
  if (carried === 'nothing') return alone
  if (carried) return { ...alone, mergeBase: certified ? tip : part.start, carried }
  const again = await partFrom(span.from ?? span.since)
  const why = stands ? 'cannot be merged with the branch' : 'are made on commits that the branch no longer has'
  const notice = `The fixes of earlier nights on ${span.target} (${short(tip)}) ${why}: what they were made for is reviewed again.`
  return { ...again, mergeBase: again.start, tip, carried: null, notices: [notice, ...again.notices] }
}
