/** Branches of a repository of this machine. Objects are added and one ref is moved; nothing else of it changes. */
import { LoopError } from '../loop/errors.ts'
import { complaint, git, runGit, type GitBounds } from '../workspace/git.ts'
import { workingTrees } from '../workspace/local-branch.ts'
import { gitPaths } from '../workspace/local-source.ts'
import type { SnapshotRepository } from '../workspace/snapshot-repository.ts'
import type { Branches } from './branches.ts'

const ABSENT = '0'.repeat(40)

/** Errors of all: NotARepository. */
export const localBranches = async (path: string, bounds: GitBounds): Promise<Branches> => {
  await gitPaths(path, ['objects'], bounds)
  const here = { ...bounds, cwd: path }

  const tip = async (ref: string): Promise<string | null> => {
    const result = await runGit(['rev-parse', '--verify', '--quiet', '--end-of-options', ref], here)
    return result.code === 0 ? result.stdout.toString().trim() : null
  }
  const holds = async (at: string, commit: string): Promise<boolean> =>
    (await runGit(['merge-base', '--is-ancestor', commit, at], here)).code === 0

  /** A branch that somebody works on: moving it would make their working tree look edited. */
  const isCheckedOut = async (ref: string): Promise<boolean> =>
    (await workingTrees(path, bounds)).some(({ branch }) => `refs/heads/${branch}` === ref)

  /** Adds the new objects, one by one and without a pack, so that nothing asks for a clean-up. */
  const addObjects = async (from: SnapshotRepository, commit: string, head: string): Promise<void> => {
    const list = await git(['rev-list', '--objects', commit, '--not', head], from.options)
    const pack = await git(['pack-objects', '--quiet', '--stdout'], { ...from.options, input: list, maxBytes: 2 ** 31 })
    const unpacked = await runGit(['unpack-objects', '-q'], { ...here, input: pack })
    const whole = unpacked.code === 0 && (await runGit(['rev-list', '--objects', '--quiet', commit, '--not', head], here)).code === 0
    if (!whole) throw new LoopError('PushFailed', `${path} did not take the fix commits: ${complaint(unpacked.stderr)}`)
  }

  return {
    tip,
    holds,
    move: async (from, { ref, old, head, commit }) => {
      if (old !== null && (await isCheckedOut(ref))) {
        throw new LoopError('BranchTaken', `${ref.slice('refs/heads/'.length)} is checked out in ${path}`, { ref })
      }
      await addObjects(from, commit, head)
      const args = ['update-ref', '--no-deref', '-m', 'reviewloop: publish', ref, commit, old ?? ABSENT]
      const result = await runGit(args, here)
      if (result.code === 0) return true
      if ((await tip(ref)) !== old) return false
      if (/exists; cannot create|cannot create .* refs\/heads/i.test(result.stderr)) {
        throw new LoopError('BranchTaken', `a branch stands in the way of ${ref.slice('refs/heads/'.length)}: ${complaint(result.stderr)}`)
      }
      throw new LoopError('PushFailed', `${path}: ${complaint(result.stderr)}`)
    },
  }
}
