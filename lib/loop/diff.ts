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

/** Line numbers that the change added or altered in the new file. */
export const addedLines = (file: DiffFile): Set<number> =>
  new Set(file.hunks.flatMap((hunk) => hunk.lines.flatMap((line) => (line.kind === 'added' && line.newLine ? [line.newLine] : []))))
