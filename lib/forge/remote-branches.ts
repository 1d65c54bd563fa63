/** Branches of a repository behind a URL. */
import { join } from 'node:path'
import type { GitBounds } from '../workspace/git.ts'
import { runGit } from '../workspace/git.ts'
import { initRepository } from '../workspace/local-source.ts'
import { hasCommit } from '../workspace/merge-base.ts'
import { fetchError, isRejected, pushError } from '../workspace/refusals.ts'
import { remoteTip, withToken, type Remote } from '../workspace/remote-source.ts'
import type { Branches } from './branches.ts'

/** Commits of a branch among which ours is sought: what people added on top of it in the meantime. */
const DEPTH = 256

/** `scratch` is a folder for throwaway repositories. Errors of all: FetchRefused, FetchFailed. */
export const remoteBranches = (remote: Remote, bounds: GitBounds, scratch: string): Branches => {
  const url = remote.url.href
  const network = { ...bounds, ...withToken(remote.url, remote.token) }
  let lookedAt = 0

  const tip = (ref: string): Promise<string | null> => remoteTip(remote, ref, bounds)
  const holds = async (at: string, commit: string): Promise<boolean> => {
    const gitDir = join(scratch, `look-${++lookedAt}`)
    await initRepository(gitDir, bounds)
    const args = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules']
    const fetched = await runGit([...args, `--depth=${DEPTH}`, '--', url, at], { ...network, env: { GIT_DIR: gitDir } })
    if (fetched.code !== 0) throw fetchError(fetched, url)
    if (!(await hasCommit(gitDir, commit, bounds))) return false
    return (await runGit(['merge-base', '--is-ancestor', commit, at], { ...bounds, env: { GIT_DIR: gitDir } })).code === 0
  }
  return {
    tip,
    holds,
    move: async (from, { ref, old, commit }) => {
      const args = ['push', '--quiet', '--porcelain', '--no-verify', '--no-follow-tags', '--recurse-submodules=no']
      const lease = `--force-with-lease=${ref}:${old ?? ''}`
      const result = await runGit([...args, lease, '--', url, `${commit}:${ref}`], { ...from.options, ...network, env: from.options.env! })
      if (result.code === 0) return true
      // A server that lost a race says so in words of its own; where the branch is now tells it from a refusal.
      if (isRejected(result) && (await tip(ref)) !== old) return false
      throw pushError(result, url)
    },
  }
}
