/** The diff model of two commits, from git's own diff. */
import type { DiffFile } from '../loop/diff.ts'
import { LoopError } from '../loop/errors.ts'
import { LEAST_LINE_BYTES, patchParser, type PatchSection } from './diff-patch.ts'
import { parseRaw, type RawChange } from './diff-raw.ts'
import { git, runGit, complaint, type GitOptions } from './git.ts'

const SUBMODULE = '160000'

/** The one way in which this program diffs: nothing of a repository's or a machine's configuration changes it. */
export const DIFF = [
  'diff-tree',
  '-r',
  '--no-ext-diff',
  '--no-textconv',
  '--no-color',
  '--find-renames',
  '--full-index',
  '--submodule=short',
  '--ignore-submodules=none',
  '--diff-algorithm=myers',
  '--src-prefix=a/',
  '--dst-prefix=b/',
] as const

const kindOf = (mode: string): string => mode.slice(0, 2)
/** A change between file, link and submodule: git prints it as a deletion and a creation. */
const changesKind = ({ oldMode, newMode }: RawChange): boolean =>
  oldMode !== null && newMode !== null && kindOf(oldMode) !== kindOf(newMode)

const statusOf = (change: RawChange): DiffFile['status'] => {
  if (change.status === 'M' && change.oldId === change.newId) return 'mode-changed'
  const names: Record<string, DiffFile['status']> = { A: 'added', D: 'deleted', R: 'renamed', C: 'copied' }
  return names[change.status] ?? 'modified'
}

const omissionOf = (change: RawChange, sections: readonly PatchSection[], limit: number): string | null => {
  if (change.oldMode === SUBMODULE || change.newMode === SUBMODULE) return 'submodule'
  if (change.problem) return `its name ${change.problem}`
  if (sections.some((section) => section.binary))
    return 'binary, text in an encoding that git takes for binary such as UTF-16, or over 16 MB'
  const bytes = sections.reduce((sum, section) => sum + section.bytes, 0)
  return sections.some((section) => section.tooLarge)
    ? `too large: its diff of ${bytes} bytes is over limits.diff_bytes (${limit} in all, a line counting as ${LEAST_LINE_BYTES} at least)`
    : null
}

/** Changed files between two commits, names only. */
export const changedFiles = async (from: string, to: string, options: GitOptions): Promise<RawChange[]> =>
  parseRaw(await git([...DIFF, '--raw', '-z', from, to], { ...options, maxBytes: 512 * 1024 * 1024 }))

/**
 * The diff of two commits. Files whose hunks go past `limit` bytes in all stand in it without hunks and with the reason.
 * Errors: GitFailed, GitTimedOut, Interrupted.
 */
export const readDiff = async (from: string, to: string, limit: number, options: GitOptions): Promise<DiffFile[]> => {
  const changes = await changedFiles(from, to, options)
  const parser = patchParser(limit)
  const result = await runGit([...DIFF, '--patch', from, to], { ...options, onStdout: (chunk) => parser.push(chunk) })
  if (result.code !== 0) throw new LoopError('GitFailed', `git diff-tree ended with ${result.code}: ${complaint(result.stderr)}`)
  const sections = parser.end()
  let at = 0
  const files = changes.map((change): DiffFile => {
    const own = sections.slice(at, (at += changesKind(change) ? 2 : 1))
    const omitted = omissionOf(change, own, limit)
    return {
      path: change.path,
      oldPath: change.oldPath,
      status: statusOf(change),
      oldMode: change.oldMode,
      newMode: change.newMode,
      omitted,
      hunks: omitted ? [] : own.flatMap((section) => section.hunks),
    }
  })
  // The names and the text come from two listings: if they did not pair, a file would wear another's lines.
  if (at !== sections.length) throw new LoopError('GitFailed', `git's diff names ${at} parts and prints ${sections.length}`)
  return files
}
