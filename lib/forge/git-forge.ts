/** The adapter of the loop's Forge port that any git server and any repository of this machine is good for: branches. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LoopError } from '../loop/errors.ts'
import type { Forge } from '../loop/ports.ts'
import { branchRef, parseAddress, tokenFor, type TokenSource } from '../workspace/address.ts'
import { applyChangeset } from '../workspace/changeset.ts'
import { openSnapshot, type SnapshotRepository } from '../workspace/snapshot-repository.ts'
import type { GitBounds } from '../workspace/git.ts'
import type { Branches } from './branches.ts'
import { localBranches } from './local-branches.ts'
import { remoteBranches } from './remote-branches.ts'

type Publication = Parameters<Forge['publish']>[0]

/** What has to be done: 'already', or the commit that the target has to be at (null: it has to be absent). */
const plan = async (
  branches: Branches,
  { branch, target, head, commit, replaces }: Publication,
): Promise<'already' | { old: string | null }> => {
  const [source, goal] = [branch === null ? null : branchRef(branch), branchRef(target)]
  const sourceTip = source === null ? null : await branches.tip(source)
  if (source !== null && sourceTip === null) throw new LoopError('BranchGone', `branch ${branch} is gone`, { branch })
  const tip = source === goal ? sourceTip : await branches.tip(goal)
  // The head cannot hold what was made on top of it.
  if (tip !== null && (tip === commit || (tip !== head && (await branches.holds(tip, commit))))) return 'already'
  // By the clock a branch is reviewed as it was: that it has moved since is no reason to keep the fixes back.
  if (replaces !== undefined) {
    if (tip === null || tip === replaces) return { old: tip }
    throw new LoopError('NightBranchMoved', `branch ${target} is at ${tip}, and was at ${replaces ?? 'nothing'}`, { target, found: tip })
  }
  if (source !== null && sourceTip !== head) {
    throw new LoopError('HeadMoved', `branch ${branch} is at ${sourceTip}, reviewed was ${head}`, { branch, head, found: sourceTip })
  }
  if (source === goal) return { old: head }
  if (tip === null) return { old: null }
  throw new LoopError('BranchTaken', `branch ${target} exists and is at ${tip}`, { target, found: tip })
}

/** Asks again what to do when a branch moved in between: what it then finds is said, or done once more. */
const publish = async (branches: Branches, from: SnapshotRepository, request: Publication): Promise<'published' | 'already'> => {
  const goal = branchRef(request.target)
  for (let attempt = 1; attempt <= 3; attempt++) {
    const next = await plan(branches, request)
    if (next === 'already') return next
    if (await branches.move(from, { ref: goal, old: next.old, head: request.head, commit: request.commit })) return 'published'
  }
  throw new LoopError('PushFailed', `branch ${request.target} moves again and again`)
}

/** `token` is asked for https addresses only. `folder` is where throwaway repositories are made. */
export const gitForge = (options: { token: TokenSource; folder?: string }): Forge => {
  const branchesOf = async (repository: string, bounds: GitBounds, scratch: string): Promise<Branches> => {
    const address = parseAddress(repository)
    if (address.kind === 'path') return localBranches(address.path, bounds)
    return remoteBranches({ url: address.url, token: await tokenFor(address.url, options.token) }, bounds, scratch)
  }
  const withScratch = async <T>(use: (scratch: string) => Promise<T>): Promise<T> => {
    const scratch = await mkdtemp(join(options.folder ?? tmpdir(), 'reviewloop-forge-'))
    try {
      return await use(scratch)
    } finally {
      await rm(scratch, { recursive: true, force: true })
    }
  }
  return {
    branchHead: (repository, branch) => withScratch(async (scratch) => (await branchesOf(repository, {}, scratch)).tip(branchRef(branch))),
    publish: (request) =>
      withScratch(async (scratch) => {
        const bounds = { signal: request.signal }
        const branches = await branchesOf(request.repository, bounds, scratch)
        const repository = await openSnapshot(join(scratch, 'snapshot'), request.info, request.pack, bounds)
        const commit = await applyChangeset(repository, request.head, request.changeset)
        if (commit !== request.commit) {
          throw new LoopError('ChangesetMismatch', `the changeset gives ${commit}, to publish is ${request.commit}`, { commit })
        }
        return publish(branches, repository, request)
      }),
  }
}
