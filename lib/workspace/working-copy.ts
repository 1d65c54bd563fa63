/** The working copy on disk: what is checked out, what differs from it, and the way back. */
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { LoopError } from '../loop/errors.ts'
import type { FileChange, Work } from '../loop/workspace.ts'
import { readConfined, removeConfined, writeConfined } from './confined.ts'
import { namesOf, parseRaw } from './diff-raw.ts'
import { isLfsPointer } from './file-tools.ts'
import { git, runGit, type GitOptions } from './git.ts'
import { pathProblem } from './paths.ts'
import type { SnapshotRepository } from './snapshot-repository.ts'

const LINK = '120000'
const SUBMODULE = '160000'

export interface WorkingCopy {
  /** Why a path may not be edited; null where it may. */
  refusal(path: string): Promise<string | null>
  onWrite(path: string): void
  /** Paths that differ from the index, sorted. */
  changed(): Promise<string[]>
  /** What differs, as data. Errors: EditRefused (link, submodule, filter, LFS pointer), ChangeTooLarge. */
  changes(): Promise<FileChange[]>
  /** Makes the folder hold the commit, which the index is set to, and the work, and nothing else. */
  reset(commit: string, work: Work | null): Promise<void>
  /** The index holds another commit now. */
  moved(): Promise<void>
}

interface Parts {
  root: string
  repository: SnapshotRepository
  /** Which of the paths stand under a filter. */
  filtered: (paths: string[]) => Promise<Set<string>>
  maxBytes: number
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

export const workingCopy = ({ root, repository, filtered, maxBytes }: Parts): WorkingCopy => {
  const { env } = repository.options
  const options: GitOptions = { ...repository.options, cwd: root, env: { ...env, GIT_WORK_TREE: root }, maxBytes: 512 * 1024 * 1024 }
  let modes = new Map<string, string>()
  /** Files that the tools wrote: they count even where .gitignore names them. */
  const written = new Set<string>()

  const readModes = async (): Promise<void> => {
    const entries = namesOf(await git(['ls-files', '-z', '--stage'], options))
    modes = new Map(entries.map((entry) => [entry.slice(entry.indexOf('\t') + 1), entry.slice(0, 6)]))
  }
  const kindRefusal = (path: string): string | null => {
    const mode = modes.get(path)
    if (mode === LINK) return 'is a symbolic link'
    const parts = path.split('/')
    const folders = parts.map((_, index) => parts.slice(0, index + 1).join('/'))
    if (folders.some((folder) => modes.get(folder) === SUBMODULE)) return 'lies in a submodule'
    return null
  }
  const FILTERED = 'stands under a filter of .gitattributes, such as Git LFS'

  const differing = async (): Promise<{ path: string; gone: boolean }[]> => {
    // Its exit code only says that something differs.
    await runGit(['update-index', '-q', '--refresh', '--ignore-submodules'], options)
    const tracked = parseRaw(await git(['diff-files', '-z', '--raw', '--ignore-submodules=all'], options))
    const untracked = namesOf(await git(['ls-files', '-z', '--others', '--exclude-standard'], options))
    const ignored = [...written].filter((path) => !modes.has(path))
    const present = await Promise.all(ignored.map(async (path) => ((await readConfined(root, path, maxBytes)) ? [path] : [])))
    const added = new Set([...untracked.filter((path) => pathProblem(path) === null), ...present.flat()])
    return [
      ...tracked.map(({ path, status }) => ({ path, gone: status === 'D' })),
      ...[...added].map((path) => ({ path, gone: false })),
    ].toSorted((a, b) => compare(a.path, b.path))
  }

  const changeOf = async (path: string, gone: boolean): Promise<FileChange> => {
    const refused = kindRefusal(path)
    if (refused) throw new LoopError('EditRefused', `${JSON.stringify(path)} ${refused}`, { path })
    if (gone) return { kind: 'delete', path }
    const file = await readConfined(root, path, maxBytes)
    if (!file) throw new LoopError('EditRefused', `${JSON.stringify(path)} is no regular file`, { path })
    if (isLfsPointer(file.bytes)) throw new LoopError('EditRefused', `${JSON.stringify(path)} is a Git LFS pointer`, { path })
    return { kind: 'write', path, mode: file.executable ? '100755' : '100644', content: file.bytes.toString('base64') }
  }

  return {
    refusal: async (path) => kindRefusal(path) ?? ((await filtered([path])).has(path) ? FILTERED : null),
    onWrite: (path) => void written.add(path),
    changed: async () => (await differing()).map(({ path }) => path),
    changes: async () => {
      const found = await differing()
      if (found.length === 0) return []
      const [refused] = await filtered(found.map(({ path }) => path))
      if (refused) throw new LoopError('EditRefused', `${JSON.stringify(refused)} ${FILTERED}`, { path: refused })
      const changes: FileChange[] = []
      for (const { path, gone } of found) changes.push(await changeOf(path, gone))
      return changes
    },
    reset: async (commit, work) => {
      await mkdir(root, { recursive: true })
      for (const name of await readdir(root)) await rm(join(root, name), { recursive: true, force: true })
      await git(['read-tree', '--reset', commit], options)
      const checkedOut = await runGit(['checkout-index', '--all', '--force', '--index', '--quiet'], options)
      if (checkedOut.code !== 0) throw new LoopError('GitFailed', `commit ${commit} cannot be checked out`)
      written.clear()
      await readModes()
      for (const change of work?.changes ?? []) {
        if (change.kind === 'delete') await removeConfined(root, change.path)
        else await writeConfined(root, change.path, Buffer.from(change.content, 'base64'), change.mode === '100755')
        written.add(change.path)
      }
    },
    moved: async () => {
      written.clear()
      await readModes()
    },
  }
}
