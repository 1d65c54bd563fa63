/** Fix commits as data: the same changes on the same parent give the same commit id, wherever they are applied. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { LoopError } from '../loop/errors.ts'
import type { Changeset, ChangesetCommit, FileChange } from '../loop/workspace.ts'
import { git, gitText } from './git.ts'
import { pathProblem } from './paths.ts'
import type { SnapshotRepository } from './snapshot-repository.ts'

const NAME = 'reviewloop'
const EMAIL = 'reviewloop@users.noreply.localhost'
const NO_OBJECT = '0'.repeat(40)

// The @ makes git take any number for seconds.
const identity = (time: number): Record<string, string> => ({
  GIT_AUTHOR_NAME: NAME,
  GIT_AUTHOR_EMAIL: EMAIL,
  GIT_AUTHOR_DATE: `@${time} +0000`,
  GIT_COMMITTER_NAME: NAME,
  GIT_COMMITTER_EMAIL: EMAIL,
  GIT_COMMITTER_DATE: `@${time} +0000`,
})

/** Stores contents and gives their ids, in order; one process for all. */
const storeBlobs = async (repository: SnapshotRepository, contents: Buffer[]): Promise<string[]> => {
  if (contents.length === 0) return []
  const folder = await mkdtemp(join(repository.gitDir, 'blobs-'))
  try {
    const names = contents.map((_, index) => join(folder, String(index)))
    for (const [index, content] of contents.entries()) await writeFile(names[index]!, content)
    const input = names.map((name) => `${name}\n`).join('')
    return (await gitText(['hash-object', '-w', '--no-filters', '--stdin-paths'], { ...repository.options, input })).split('\n')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Puts changes into the index, which holds the parent's tree, and gives the tree that results. */
const writeTree = async (repository: SnapshotRepository, changes: readonly FileChange[]): Promise<string> => {
  for (const { path } of changes) {
    const problem = pathProblem(path)
    if (problem) throw new LoopError('OutsideWorkspace', `${JSON.stringify(path.slice(0, 200))} ${problem}`)
  }
  const writes = changes.filter((change) => change.kind === 'write')
  const ids = await storeBlobs(
    repository,
    writes.map((change) => Buffer.from(change.content, 'base64')),
  )
  // Deletions come first: a file may give way to a folder of its name.
  const lines = [
    ...changes.filter((change) => change.kind === 'delete').map(({ path }) => `0 ${NO_OBJECT}\t${path}\0`),
    ...writes.map(({ mode, path }, index) => `${mode} ${ids[index]}\t${path}\0`),
  ]
  await git(['update-index', '--add', '--replace', '-z', '--index-info'], { ...repository.options, input: lines.join('') })
  return gitText(['write-tree'], repository.options)
}

/**
 * Commits changes on a parent whose tree the repository's index holds; the index then holds the new tree.
 * Null where the tree stays the same. Errors: OutsideWorkspace, GitFailed.
 */
export const commitChanges = async (
  repository: SnapshotRepository,
  parent: string,
  commit: Omit<ChangesetCommit, 'id'>,
): Promise<ChangesetCommit | null> => {
  const tree = await writeTree(repository, commit.changes)
  if (tree === (await gitText(['rev-parse', `${parent}^{tree}`], repository.options))) return null
  const options = { ...repository.options, input: commit.message, env: { ...repository.options.env, ...identity(commit.time) } }
  const id = await gitText(['commit-tree', tree, '-p', parent, '-F', '-'], options)
  return { id, ...commit }
}

/**
 * Applies a changeset on the head and gives the commit that stands; the index holds its tree.
 * Errors: ChangesetMismatch where the head or the id of a commit is another.
 */
export const applyChangeset = async (repository: SnapshotRepository, head: string, changeset: Changeset | null): Promise<string> => {
  await git(['read-tree', head], repository.options)
  if (!changeset) return head
  if (changeset.head !== head)
    throw new LoopError('ChangesetMismatch', `the changeset is for ${changeset.head}, the snapshot's head is ${head}`)
  let parent = head
  for (const { id, message, time, changes } of changeset.commits) {
    const made = await commitChanges(repository, parent, { message, time, changes })
    if (made?.id !== id)
      throw new LoopError('ChangesetMismatch', `fix commit ${id} came out as ${made?.id ?? 'no change'}`, { expected: id })
    parent = id
  }
  return parent
}
