/** A repository of this machine as source: a throwaway repository borrows its objects, so nothing is copied and nothing is written there. */
import { copyFile, mkdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LoopError } from '../loop/errors.ts'
import { complaint, git, runGit, type GitBounds } from './git.ts'
import { findMergeBase, hasCommit } from './merge-base.ts'

/** A path as a line of `objects/info/alternates`. */
const alternatesLine = (path: string): string => `"${path.replace(/[\\"]/g, '\\$&')}"\n`

/** A bare repository at `gitDir`, with nothing in it and no template. */
export const initRepository = async (gitDir: string, bounds: GitBounds): Promise<void> => {
  await git(['init', '--quiet', '--bare', '--template=', '--object-format=sha1', '--initial-branch=main', '--', gitDir], bounds)
  await mkdir(join(gitDir, 'info'), { recursive: true })
}

/** Lets a repository read the objects of another. */
export const borrowObjects = (gitDir: string, objects: string): Promise<void> =>
  writeFile(join(gitDir, 'objects', 'info', 'alternates'), alternatesLine(objects))

/**
 * Absolute paths inside a repository's own folder, found from any folder below its root.
 * Errors: NotARepository.
 */
export const gitPaths = async (directory: string, names: readonly string[], bounds: GitBounds): Promise<string[]> => {
  const folder = await stat(directory).catch(() => null)
  if (!folder?.isDirectory()) throw new LoopError('NotARepository', `${directory}: no such folder`, { directory })
  const args = ['rev-parse', '--path-format=absolute', ...names.flatMap((name) => ['--git-path', name])]
  const result = await runGit(args, { ...bounds, cwd: directory })
  if (result.code === 0) return result.stdout.toString('utf8').trimEnd().split('\n')
  if (/dubious ownership/.test(result.stderr))
    throw new LoopError(
      'NotARepository',
      `${directory} belongs to another user of this machine; git's safe.directory is a setting of a person, and those are not read`,
      { directory, remedy: 'Run as the owner of the repository, or make it yours with `chown -R`, its .git included.' },
    )
  throw new LoopError('NotARepository', `${directory}: ${complaint(result.stderr)}`, { directory })
}

/**
 * Makes `gitDir` read the repository at `path` and gives the merge base.
 * Errors: NotARepository, NoCommit, BaseUnreachable.
 */
export const borrowLocal = async (
  gitDir: string,
  path: string,
  source: { base: string; head: string },
  bounds: GitBounds,
): Promise<string> => {
  const [objects, shallow] = await gitPaths(path, ['objects', 'shallow'], bounds)
  await borrowObjects(gitDir, objects!)
  await copyFile(shallow!, join(gitDir, 'shallow')).catch(() => undefined)
  for (const commit of [source.base, source.head]) {
    if (!(await hasCommit(gitDir, commit, bounds))) throw new LoopError('NoCommit', `${path} has no commit ${commit}`, { commit })
  }
  const found = await findMergeBase(gitDir, source.base, source.head, bounds)
  if (found.kind === 'found') return found.commit
  const why = found.kind === 'none' ? 'have no history in common' : 'meet where its history is cut off: run `git fetch --unshallow` in it'
  throw new LoopError('BaseUnreachable', `base and head of ${path} ${why}`, { base: source.base, head: source.head })
}
