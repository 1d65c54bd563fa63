/** Facts about the repository that a command was typed in. Nothing of it is written, not even its index's cache. */
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { LoopError } from '../loop/errors.ts'
import { redact } from './address.ts'
import { namesOf } from './diff-raw.ts'
import { git, gitText, runGit, type GitBounds } from './git.ts'
import { borrowObjects, gitPaths, initRepository } from './local-source.ts'

export interface LocalBase {
  /** Tip of the base. */
  commit: string
  mergeBase: string
  /** What it is called: `origin/main`, or the revision that was named. */
  name: string
}

export interface LocalRepository {
  /** Top of the working tree, or the folder of a bare repository. */
  root: string
  head: string
  /** Branch of the head, without refs/heads/; null where the head is a bare commit. */
  branch: string | null
  base: LocalBase
  /** Paths that differ from HEAD or that git does not know: they are not reviewed. */
  uncommitted: string[]
  /** Address of the remote `origin`, without credentials; null where there is none. */
  origin: string | null
}

type Git = (...args: string[]) => Promise<string | null>

/** git in a folder: its text, or null where it ends with another code than 0. */
const quietly =
  (directory: string, bounds: GitBounds): Git =>
  async (...args) => {
    const result = await runGit(args, { ...bounds, cwd: directory })
    return result.code === 0 ? result.stdout.toString('utf8').replace(/\n$/, '') : null
  }

/**
 * The commit that a revision names in the repository around `directory`.
 * Errors: NotARepository, NoCommit.
 */
export const resolveCommit = async (directory: string, revision: string, bounds: GitBounds = {}): Promise<string> => {
  await gitPaths(directory, ['objects'], bounds)
  const ask = quietly(directory, bounds)
  const commit = await ask('rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`)
  if (commit && /^[0-9a-f]{40}$/.test(commit)) return commit
  if (commit)
    throw new LoopError('NoCommit', `${directory} names its commits by SHA-256, which is not supported`, {
      remedy: 'Review a copy with SHA-1 names: `git fast-export --all` there, `git fast-import` in a new repository.',
    })
  const empty = revision === 'HEAD' && (await ask('rev-list', '--max-count=1', '--all')) === ''
  const why = empty ? 'has no commit yet' : `has no commit called ${JSON.stringify(revision)}`
  throw new LoopError('NoCommit', `${directory} ${why}`, { revision })
}

/** Names that may be the base of a branch, best first. Those that do not exist are passed over later. */
const candidates = async (ask: Git, branch: string | null): Promise<string[]> => {
  const upstream = branch === null ? null : await ask('rev-parse', '--abbrev-ref', '--symbolic-full-name', `${branch}@{upstream}`)
  const remoteHead = await ask('symbolic-ref', '--quiet', '--short', 'refs/remotes/origin/HEAD')
  return [...new Set([upstream, remoteHead, 'main', 'master', 'origin/main', 'origin/master'])].flatMap((name) => (name ? [name] : []))
}

const baseAt = async (ask: Git, name: string, head: string): Promise<LocalBase | null> => {
  const commit = await ask('rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`)
  const mergeBase = commit && (await ask('merge-base', commit, head))
  return commit && mergeBase ? { commit, mergeBase, name } : null
}

/**
 * The first candidate that the head has left behind; where there is none, the first that exists. An upstream that already has
 * the head (a branch that was pushed) says nothing about where the branch came from.
 */
const guessBase = async (ask: Git, branch: string | null, head: string): Promise<LocalBase | null> => {
  let fallback: LocalBase | null = null
  for (const name of await candidates(ask, branch)) {
    const base = await baseAt(ask, name, head)
    if (base && base.mergeBase !== head) return base
    fallback ??= base
  }
  return fallback
}

/**
 * What `git status` would name, asked with a copy of the index and none of the repository's configuration: its filters are
 * programs, and looking at a folder must not run them.
 */
const uncommittedIn = async (root: string, bounds: GitBounds): Promise<string[]> => {
  const [objects, index, exclude] = await gitPaths(root, ['objects', 'index', 'info/exclude'], bounds)
  const gitDir = await mkdtemp(join(tmpdir(), 'reviewloop-status-'))
  try {
    await initRepository(gitDir, bounds)
    await borrowObjects(gitDir, objects!)
    await copyFile(index!, join(gitDir, 'index')).catch(() => undefined)
    const shared = (await readdir(dirname(index!)).catch(() => [])).filter((name) => name.startsWith('sharedindex.'))
    for (const name of shared) await copyFile(join(dirname(index!), name), join(gitDir, basename(name)))
    await copyFile(exclude!, join(gitDir, 'info', 'exclude')).catch(() => undefined)
    const options = { ...bounds, cwd: root, env: { GIT_DIR: gitDir, GIT_WORK_TREE: root }, config: { 'core.symlinks': 'true' } }
    const head = await quietly(root, bounds)('rev-parse', '--verify', '--quiet', 'HEAD')
    if (head) await git(['update-ref', '--no-deref', 'HEAD', head], options)
    const args = ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=normal', '--ignore-submodules=all']
    return namesOf(await git(args, options))
      .map((entry) => entry.slice(3))
      .toSorted()
  } finally {
    await rm(gitDir, { recursive: true, force: true })
  }
}

/** Short name of the branch that a revision is; null where it is a commit, a tag or a remote's branch. */
const branchOf = async (ask: Git, revision: string): Promise<string | null> => {
  const name = await ask('rev-parse', '--symbolic-full-name', '--verify', '--quiet', '--end-of-options', revision)
  return name?.startsWith('refs/heads/') ? name.slice('refs/heads/'.length) : null
}

/**
 * Reads the repository around a folder. `head` defaults to HEAD; `base` to the upstream of the head's branch, else origin/HEAD,
 * main, master. Errors: NotARepository, NoCommit, NoBase.
 */
export const readLocalRepository = async (
  directory: string,
  wanted: { head?: string; base?: string } = {},
  bounds: GitBounds = {},
): Promise<LocalRepository> => {
  const head = await resolveCommit(directory, wanted.head ?? 'HEAD', bounds)
  const ask = quietly(directory, bounds)
  const branch = await branchOf(ask, wanted.head ?? 'HEAD')
  const top = await ask('rev-parse', '--show-toplevel')
  const root = top ?? (await gitText(['rev-parse', '--absolute-git-dir'], { ...bounds, cwd: directory }))
  if (wanted.base !== undefined) await resolveCommit(directory, wanted.base, bounds)
  const base = wanted.base === undefined ? await guessBase(ask, branch, head) : await baseAt(ask, wanted.base, head)
  if (!base) {
    const why =
      wanted.base === undefined
        ? 'has no upstream, no origin/HEAD, no main and no master with history in common'
        : `${wanted.base} and the head have no history in common`
    throw new LoopError('NoBase', `${root}: ${why}`)
  }
  const origin = await ask('config', '--get', 'remote.origin.url')
  const uncommitted = top === null ? [] : await uncommittedIn(root, bounds)
  return { root, head, branch, base, uncommitted, origin: origin ? redact(origin) : null }
}
