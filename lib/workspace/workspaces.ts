/** The adapter of the loop's Workspaces port: real git, in throwaway folders. */
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Comparison } from '../loop/diff.ts'
import { LoopError } from '../loop/errors.ts'
import type { Workspace, Workspaces } from '../loop/workspace.ts'
import type { TokenSource } from './address.ts'
import { applyChangeset, commitChanges } from './changeset.ts'
import { readDiff } from './diff-read.ts'
import { editFiles, readFiles } from './file-tools.ts'
import { readPatch } from './patch.ts'
import { fetchSnapshot } from './snapshot.ts'
import { filterOf, openSnapshot } from './snapshot-repository.ts'
import { workingCopy } from './working-copy.ts'

type OpenOptions = Parameters<Workspaces['open']>[0]

/** Opens a working copy below `folder`, which is its own and goes when it is closed. */
const openIn = async (folder: string, options: OpenOptions): Promise<Workspace> => {
  const { info, pack, changeset, work, editable, limits, deadline, signal } = options
  const root = join(folder, 'workspace')
  // git's own folder lies beside the workspace and not in it: nothing that works in there can reach it by a path.
  const repository = await openSnapshot(join(folder, 'repository'), info, pack, { deadline, signal })
  const start = await applyChangeset(repository, info.head, changeset)
  if (work && work.commit !== start) {
    throw new LoopError('ChangesetMismatch', `the uncommitted work is for ${work.commit}, the commit that stands is ${start}`)
  }
  // Made when the first edit asks: a turn that only reads has no need of it.
  let filter: ReturnType<typeof filterOf> | null = null
  const filtered = async (paths: string[]): Promise<Set<string>> =>
    (await (filter ??= filterOf(repository, join(folder, 'attributes'), info.head)))(paths)
  const copy = workingCopy({ root, repository, filtered, maxBytes: limits.bytes })
  await copy.reset(start, work)
  const [files, edits] = [readFiles(root), editable ? editFiles(root, copy) : null]
  let commit = start
  let startWork = work
  let patches = 0
  return {
    root,
    get commit() {
      return commit
    },
    files,
    edits,
    diff: () => readDiff(info.mergeBase, commit, limits.diff_bytes, repository.options),
    changed: () => copy.changed(),
    commitAll: async (message, time) => {
      const changes = await copy.changes()
      const made = changes.length === 0 ? null : await commitChanges(repository, commit, { message, time, changes })
      if (!made) return null
      commit = made.id
      await copy.moved()
      return made
    },
    saveWork: async () => {
      const changes = await copy.changes()
      return changes.length === 0 ? null : { commit, changes }
    },
    patch: () => readPatch(repository, join(folder, `patch-${++patches}`), info.head, commit),
    restore: async () => {
      await copy.reset(start, startWork)
      commit = start
    },
    restoreCommit: async () => {
      startWork = null
      await copy.reset(start, null)
      commit = start
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}

const compareIn = async (folder: string, options: Parameters<Workspaces['compare']>[0]): Promise<Comparison> => {
  const { info, pack, changeset, limits, signal } = options
  const repository = await openSnapshot(join(folder, 'repository'), info, pack, { signal })
  const commit = await applyChangeset(repository, info.head, changeset)
  const diff = (from: string, to: string) => readDiff(from, to, limits.diff_bytes, repository.options)
  const head = await diff(info.mergeBase, info.head)
  if (commit === info.head) return { head, standing: head, fixes: [] }
  return { head, standing: await diff(info.mergeBase, commit), fixes: await diff(info.head, commit) }
}

/**
 * Workspaces in throwaway folders below `folder` (default: the system's temporary one). `token` is asked when fetching over
 * https, and by nothing else.
 */
export const gitWorkspaces = (options: { token: TokenSource; folder?: string }): Workspaces => {
  const below = options.folder ?? tmpdir()
  return {
    fetch: (source, limits, signal) => fetchSnapshot(source, limits, options.token, signal, below),
    open: async (opening) => {
      const folder = await realpath(await mkdtemp(join(below, 'reviewloop-')))
      try {
        return await openIn(folder, opening)
      } catch (error) {
        await rm(folder, { recursive: true, force: true })
        throw error
      }
    },
    compare: async (comparing) => {
      const folder = await mkdtemp(join(below, 'reviewloop-'))
      try {
        return await compareIn(folder, comparing)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
  }
}
