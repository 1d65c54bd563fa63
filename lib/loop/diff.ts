/** The diff model: git's own diff of merge base against the commit that stands, parsed. Pure types; workspace/ makes it. */

export interface DiffLine {
  kind: 'context' | 'added' | 'removed'
  /** The line without its LF; a CR stays. */
  text: string
  /** Line number from 1 in the old file; null for an added line. */
  oldLine: number | null
  /** Line number from 1 in the new file; null for a removed line. */
  newLine: number | null
}

export interface DiffHunk {
  oldStart: number
  oldCount: number
  newStart: number
  newCount: number
  lines: DiffLine[]
}

export interface DiffFile {
  /** Path after the change; of a deleted file, the path it had. Decoded, forward slashes. */
  path: string
  /** Path before the change, where it differs (rename or copy). */
  oldPath: string | null
  status: 'added' | 'modified' | 'deleted' | 'renamed' | 'copied' | 'mode-changed'
  oldMode: string | null
  newMode: string | null
  /** Why the content is not shown (binary, submodule, too large); null where hunks are whole. */
  omitted: string | null
  hunks: DiffHunk[]
}

/** The change and its fixes as diffs, for places in it. */
export interface Comparison {
  /** Merge base against the head. */
  head: DiffFile[]
  /** Merge base against the commit that stands. */
  standing: DiffFile[]
  /** Head against the commit that stands. */
  fixes: DiffFile[]
}

/** Line numbers that the change added or altered in the new file. */
export const addedLines = (file: DiffFile): Set<number> =>
  new Set(file.hunks.flatMap((hunk) => hunk.lines.flatMap((line) => (line.kind === 'added' && line.newLine ? [line.newLine] : []))))

/** Whether the change added a line among those from `first` to `last`. Each file's lines are gathered once, when they are asked for. */
export type IsAdded = (file: string, first: number, last: number) => boolean

export const additionsOf = (diff: readonly DiffFile[]): IsAdded => {
  const files = new Map(diff.map((file) => [file.path, file]))
  const known = new Map<string, number[]>()
  return (path, first, last) => {
    const file = files.get(path)
    const added = known.get(path) ?? (file ? [...addedLines(file)].toSorted((a, b) => a - b) : [])
    known.set(path, added)
    let [low, high] = [0, added.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((added[middle] ?? 0) < first) low = middle + 1
      else high = middle
    }
    return (added[low] ?? Infinity) <= last
  }
}

/** The line of the new file that the change added at a place of the file's diff: counted from 1 below its first `@@`, later ones counting as lines. */
export const addedAt = (diff: readonly DiffFile[], path: string, place: number): number | null => {
  const lines = diff.find((file) => file.path === path)?.hunks.flatMap((hunk, index) => [...(index > 0 ? [null] : []), ...hunk.lines]) ?? []
  const line = lines[place - 1]
  return line?.kind === 'added' ? line.newLine : null
}
