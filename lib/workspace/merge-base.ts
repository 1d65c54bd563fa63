/** The merge base in a repository that may be shallow: one is believed only where no cut-off history could hold a better one. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { git, runGit, type GitBounds } from './git.ts'
import { LoopError } from '../loop/errors.ts'

const lines = (bytes: Buffer): string[] => bytes.toString('utf8').split('\n').filter(Boolean)

/** Commits whose parents are cut off. */
export const shallowCommits = async (gitDir: string): Promise<Set<string>> =>
  new Set(lines(await readFile(join(gitDir, 'shallow')).catch(() => Buffer.alloc(0))))

export type MergeBase =
  | { kind: 'found'; commit: string }
  /** More history may show one. */
  | { kind: 'deeper' }
  /** The whole history is here and the two have nothing in common. */
  | { kind: 'none' }

/** Looks for the merge base of two commits that are in the repository. */
export const findMergeBase = async (gitDir: string, base: string, head: string, bounds: GitBounds): Promise<MergeBase> => {
  const options = { ...bounds, env: { GIT_DIR: gitDir }, maxBytes: 512 * 1024 * 1024 }
  const shallow = await shallowCommits(gitDir)
  const result = await runGit(['merge-base', '--all', base, head], options)
  if (result.code > 1) throw new LoopError('GitFailed', `git merge-base ended with ${result.code}`)
  const found = lines(result.stdout)
  if (found.length === 0) return { kind: shallow.size > 0 ? 'deeper' : 'none' }
  if (shallow.size === 0) return { kind: 'found', commit: found[0]! }
  // A branch could bring an old state of the base back behind a cut, where a nearer common ancestor is out of sight.
  const between = lines(await git(['rev-list', base, head, '--not', ...found], options))
  return between.some((commit) => shallow.has(commit)) ? { kind: 'deeper' } : { kind: 'found', commit: found[0]! }
}

/** True where the repository has the commit. */
export const hasCommit = async (gitDir: string, commit: string, bounds: GitBounds): Promise<boolean> =>
  (await runGit(['cat-file', '-e', `${commit}^{commit}`], { ...bounds, env: { GIT_DIR: gitDir } })).code === 0
