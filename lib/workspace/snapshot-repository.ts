/** A repository made of the stored snapshot alone: merge base, head, and what is committed on top of them. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LoopError } from '../loop/errors.ts'
import type { SourceInfo } from '../loop/workspace.ts'
import { boundsOf, git, runGit, type GitBounds, type GitOptions } from './git.ts'
import { borrowObjects, initRepository } from './local-source.ts'

/**
 * Over everything that a repository's own .gitattributes may say: bytes stay as they are, and no attribute hides a file's diff.
 * `working-tree-encoding` and `diff` are made unspecified, because git dies of the one and takes the file for binary with the other.
 */
const ATTRIBUTES = '* -text !eol -ident -filter !diff !merge !whitespace !working-tree-encoding !encoding !export-subst\n'

export interface SnapshotRepository {
  readonly gitDir: string
  /** Options of every git command on it. */
  readonly options: GitOptions
}

const lost = (why: string): never => {
  throw new LoopError('ArtifactLost', `the source snapshot ${why}`)
}

/**
 * Unpacks a snapshot into `gitDir` and checks that it holds what it should. git names each object by its content, so a pack
 * cannot lie about that; it can only be damaged or incomplete.
 * Errors: ArtifactLost, GitTimedOut, Interrupted.
 */
export const openSnapshot = async (gitDir: string, info: SourceInfo, pack: Uint8Array, bounds: GitBounds): Promise<SnapshotRepository> => {
  const options: GitOptions = { ...bounds, env: { GIT_DIR: gitDir } }
  const commits = [...new Set([info.mergeBase, info.head])]
  await initRepository(gitDir, bounds)
  const indexed = await runGit(['index-pack', '--stdin'], { ...options, input: pack })
  if (indexed.code !== 0) lost('is damaged')
  await writeFile(
    join(gitDir, 'shallow'),
    commits
      .toSorted()
      .map((commit) => `${commit}\n`)
      .join(''),
  )
  await writeFile(join(gitDir, 'info', 'attributes'), ATTRIBUTES)
  for (const commit of commits) {
    const type = await runGit(['cat-file', '-t', commit], options)
    if (type.stdout.toString().trim() !== 'commit') lost(`does not hold commit ${commit}`)
  }
  const whole = await runGit(['rev-list', '--objects', '--quiet', '--no-walk', ...commits], options)
  if (whole.code !== 0) lost('is incomplete')
  return { gitDir, options }
}

/**
 * Answers which paths the repository's own .gitattributes, as of a commit, put under a filter (such as LFS). Asked of a second
 * repository, because attributes of the first switch filters off; and of the commit, because an editor could change the file first.
 */
export const filterOf = async (
  repository: SnapshotRepository,
  gitDir: string,
  commit: string,
): Promise<(paths: string[]) => Promise<Set<string>>> => {
  const bounds = boundsOf(repository.options)
  await initRepository(gitDir, bounds)
  await borrowObjects(gitDir, join(repository.gitDir, 'objects'))
  await writeFile(join(gitDir, 'shallow'), `${commit}\n`)
  const options = { ...bounds, env: { GIT_DIR: gitDir } }
  await git(['read-tree', commit], options)
  return async (paths) => {
    const answer = await git(['check-attr', '--cached', '-z', '--stdin', 'filter'], {
      ...options,
      input: paths.map((path) => `${path}\0`).join(''),
    })
    const fields = answer.toString('utf8').split('\0')
    return new Set(paths.filter((_, index) => !['unspecified', 'unset', ''].includes(fields[index * 3 + 2] ?? '')))
  }
}
