/** A repository behind a URL as source: a shallow fetch that deepens until it holds the merge base. */
import { readdir, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { LoopError } from '../loop/errors.ts'
import type { Policy } from '../loop/policy.ts'
import { authorization } from './address.ts'
import { runGit, type GitBounds, type GitOptions, type GitResult } from './git.ts'
import { findMergeBase, hasCommit } from './merge-base.ts'
import { fetchError, hasNoSuchObject, wantsBranches } from './refusals.ts'

/**
 * Commits fetched at first, of the base and of the head: git does not ask again for a commit that it has, so a base fetched with
 * less would not be deepened together with the head.
 */
const FIRST_DEPTH = 32
/** Bounds while the settings, and so the limits, are not known yet. */
const BASE_DEPTH = 16_384
const BASE_BYTES = 4_000_000_000
/** Of the free space, what the base may take of it. */
const BASE_SHARE = 0.5
const WATCH_MS = 100

/** Git options that carry a token to one server, by the environment alone. */
export const withToken = (url: URL, token: string | null): Pick<GitOptions, 'config' | 'secrets'> =>
  token === null ? {} : { config: { [`http.${url.origin}/.extraHeader`]: `Authorization: ${authorization(token)}` }, secrets: [token] }

export interface Remote {
  url: URL
  token: string | null
}

const bytesOf = async (gitDir: string): Promise<number> => {
  const folder = join(gitDir, 'objects', 'pack')
  const names = await readdir(folder).catch(() => [])
  const sizes = await Promise.all(
    names.map((name) =>
      stat(join(folder, name)).then(
        (file) => file.size,
        () => 0,
      ),
    ),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Bytes that a fetch may bring, and what is said past them. */
interface Room {
  bytes: number
  over: LoopError
}

const roomOfLimit = (bytes: number): Room => ({
  bytes,
  over: new LoopError('ChangeTooLarge', `the repository is over limits.bytes (${bytes})`, { limit: 'limits.bytes', bytes }),
})

const roomOfBase = async (gitDir: string): Promise<Room> => {
  const { bavail, bsize } = await statfs(gitDir)
  const bytes = Math.floor(Math.min(BASE_BYTES, bavail * bsize * BASE_SHARE))
  return {
    bytes,
    over: new LoopError('ChangeTooLarge', `the base takes more than ${bytes} bytes, for which there is no room here`, { bytes }),
  }
}

/** One fetch, stopped when what it has brought is over the limit. */
const fetchOnce = async (
  gitDir: string,
  remote: Remote,
  refspecs: string[],
  depth: number,
  { bytes, over: overRoom }: Room,
  bounds: GitBounds,
): Promise<GitResult> => {
  const over = new AbortController()
  const watch = setInterval(() => void bytesOf(gitDir).then((size) => size > bytes && over.abort(overRoom)), WATCH_MS)
  try {
    const args = ['fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--no-auto-maintenance', '--no-recurse-submodules', '--force']
    const result = await runGit([...args, `--depth=${depth}`, '--', remote.url.href, ...refspecs], {
      ...bounds,
      ...withToken(remote.url, remote.token),
      env: { GIT_DIR: gitDir },
      signal: bounds.signal ? AbortSignal.any([bounds.signal, over.signal]) : over.signal,
    })
    if ((await bytesOf(gitDir)) > bytes) throw overRoom
    return result
  } finally {
    clearInterval(watch)
  }
}

const isShallow = (gitDir: string): Promise<boolean> =>
  stat(join(gitDir, 'shallow')).then(
    (file) => file.size > 0,
    () => false,
  )

/** Fetches by commit id, or by branch where the server gives nothing else; throws what is final. */
const fetcher = (gitDir: string, remote: Remote, bounds: GitBounds) => {
  let byBranch = false
  return async (commits: readonly string[], depth: number, room: Room): Promise<void> => {
    const where = remote.url.href
    const refspecs = (): string[] =>
      byBranch ? ['refs/heads/*:refs/reviewloop/heads/*'] : commits.map((commit) => `${commit}:refs/reviewloop/${commit}`)
    let result = await fetchOnce(gitDir, remote, refspecs(), depth, room, bounds)
    if (result.code !== 0 && !byBranch && wantsBranches(result)) {
      byBranch = true
      result = await fetchOnce(gitDir, remote, refspecs(), depth, room, bounds)
    }
    if (result.code === 0) return
    if (hasNoSuchObject(result)) throw new LoopError('NoCommit', `${where} does not have commit ${commits.join(' or ')}`, { commits })
    throw fetchError(result, where)
  }
}

/**
 * Fetches base and head into `gitDir` and gives their merge base and the limits. The base comes first, because its settings say
 * what the limits are: `limitsOf` is asked when it is there.
 * Errors: FetchRefused, FetchFailed, NoCommit, BaseUnreachable, ChangeTooLarge.
 */
export const fetchRemote = async (
  gitDir: string,
  remote: Remote,
  source: { base: string; head: string },
  limitsOf: () => Promise<Policy['limits']>,
  bounds: GitBounds,
): Promise<{ mergeBase: string; limits: Policy['limits']; depth: number }> => {
  const { base, head } = source
  const where = remote.url.href
  const fetch = fetcher(gitDir, remote, bounds)
  const present = (commit: string): Promise<boolean> => hasCommit(gitDir, commit, bounds)

  const baseRoom = await roomOfBase(gitDir)
  for (let depth = FIRST_DEPTH; ; depth *= 2) {
    await fetch([base], depth, baseRoom)
    if (await present(base)) break
    if (depth >= BASE_DEPTH || !(await isShallow(gitDir))) throw new LoopError('NoCommit', `no branch of ${where} holds ${base}`, { base })
  }
  const limits = await limitsOf()
  const room = roomOfLimit(limits.bytes)
  for (let depth = FIRST_DEPTH; ; depth = Math.min(depth * 2, limits.depth)) {
    await fetch([head, base], depth, room)
    const last = depth >= limits.depth || !(await isShallow(gitDir))
    if (!(await present(head))) {
      if (last) throw new LoopError('NoCommit', `no branch of ${where} holds ${head} within ${depth} commits`, { head })
      continue
    }
    const found = await findMergeBase(gitDir, base, head, bounds)
    if (found.kind === 'found') return { mergeBase: found.commit, limits, depth }
    if (!last && found.kind === 'deeper') continue
    const why = found.kind === 'none' ? 'have no history in common' : `do not meet within limits.depth (${limits.depth})`
    throw new LoopError('BaseUnreachable', `base and head of ${where} ${why}`, { base, head, limit: 'limits.depth', allowed: limits.depth })
  }
}

/** Fetches commits with ever more history until it is enough, or there is no more, or `limits.depth` is reached. Errors: as `fetchRemote`. */
export const deepenRemote = async (
  gitDir: string,
  remote: Remote,
  { commits, depth: from, limits }: { commits: readonly string[]; depth: number; limits: Policy['limits'] },
  isEnough: () => Promise<boolean>,
  bounds: GitBounds,
): Promise<void> => {
  const fetch = fetcher(gitDir, remote, bounds)
  for (let depth = from; ; depth = Math.min(depth * 2, limits.depth)) {
    await fetch(commits, depth, roomOfLimit(limits.bytes))
    if (depth >= limits.depth || !(await isShallow(gitDir)) || (await isEnough())) return
  }
}

/** Commit at the tip of a branch, by its full name; null where there is none. Errors: FetchRefused, FetchFailed. */
export const remoteTip = async (remote: Remote, ref: string, bounds: GitBounds): Promise<string | null> => {
  const url = remote.url.href
  const result = await runGit(['ls-remote', '--quiet', '--refs', '--', url, ref], { ...bounds, ...withToken(remote.url, remote.token) })
  if (result.code !== 0) throw fetchError(result, url)
  // git takes the name for the end of a longer one, too.
  const line = result.stdout
    .toString('utf8')
    .split('\n')
    .find((candidate) => candidate.endsWith(`\t${ref}`))
  return line?.split('\t')[0] ?? null
}
