/** Which part of a change is shown when: by risk and size, within a budget of tokens. What does not fit is named, never dropped. */
import type { DiffFile } from '../diff.ts'
import type { SkippedFile } from '../output.ts'
import { clippedLines, hashOfChange, type Piece, piecesOf, sizeOf } from './diff-text.ts'

/** Tokens of change in one message, and messages in one turn. */
export interface PromptBudget {
  part: number
  parts: number
}

/** Hash of each file's change that the session has been shown, by path. */
export type Shown = Readonly<Record<string, string>>

export interface Plan {
  parts: { text: string; shown: Shown }[]
  /** Changed files that this turn does not show since the session has them from before. */
  unchanged: string[]
  skipped: SkippedFile[]
}

const RISKS: readonly (readonly [shape: RegExp, risk: number])[] = [
  [/(?:auth|login|session|token|crypt|secret|passw|permission|acl|security|sandbox|payment|billing|sql|migrat)/i, 3],
  [/(?:^|\/)(?:\.github\/workflows|\.gitlab-ci|Dockerfile|docker-compose|infra|deploy|terraform)|\.tf$/i, 3],
  [/\.(?:[cm]?[jt]sx?|py|go|rs|java|kt|rb|php|cs|c|cc|cpp|h|hpp|swift|scala|sh|ps1|vue|svelte)$/i, 2],
  [/(?:^|\/)(?:tests?|spec|__tests__|fixtures)\/|[._](?:test|spec)\./i, -1],
  [/\.(?:md|txt|rst|adoc)$/i, -2],
  [
    /(?:^|\/)(?:package-lock\.json|[^/]*\.lock|go\.sum|pnpm-lock\.yaml)$|\.(?:min\.\w+|snap|map|svg)$|(?:^|\/)(?:dist|vendor|generated)\//i,
    -4,
  ],
]

/** The higher, the sooner it is shown. */
export const riskOf = ({ path, status }: Pick<DiffFile, 'path' | 'status'>): number =>
  RISKS.reduce((sum, [shape, risk]) => sum + (shape.test(path) ? risk : 0), status === 'deleted' ? -3 : 0)

const byRisk = (files: readonly DiffFile[]): DiffFile[] => {
  const keyed = files.map((file) => ({ file, risk: riskOf(file), lines: sizeOf(file).added + sizeOf(file).removed }))
  return keyed.toSorted((a, b) => b.risk - a.risk || a.lines - b.lines || (a.file.path < b.file.path ? -1 : 1)).map(({ file }) => file)
}

/** Files of one folder are read together. */
const byPath = (a: Piece, b: Piece): number => (a.file.path < b.file.path ? -1 : a.file.path > b.file.path ? 1 : 0)

interface Bin {
  pieces: Piece[]
  tokens: number
}

/** Puts all pieces of a file into the parts from `first` on that have room; false, and nothing is put, where they have none. */
const place = (bins: Bin[], pieces: readonly Piece[], { part, parts }: PromptBudget): boolean => {
  const placed: { bin: number; piece: Piece }[] = []
  const used = bins.map(({ tokens }) => tokens)
  let from = 0
  for (const piece of pieces) {
    while (from < parts && (used[from] ?? 0) > 0 && (used[from] ?? 0) + piece.tokens > part) from += 1
    if (from >= parts) return false
    used[from] = (used[from] ?? 0) + piece.tokens
    placed.push({ bin: from, piece })
  }
  for (const { bin, piece } of placed) {
    const into = (bins[bin] ??= { pieces: [], tokens: 0 })
    into.pieces.push(piece)
    into.tokens += piece.tokens
  }
  return true
}

/** Files without content of their own to show are left to the list of changed files, which names them all. */
const hasContent = ({ omitted, hunks }: DiffFile): boolean => omitted === null && hunks.length > 0

export const planParts = (diff: readonly DiffFile[], budget: PromptBudget, shown: Shown = {}): Plan => {
  const known = (file: DiffFile): boolean => Object.hasOwn(shown, file.path) && shown[file.path] === hashOfChange(file)
  const files = byRisk(diff.filter(hasContent))
  const bins: Bin[] = []
  const skipped: SkippedFile[] = []
  for (const file of files.filter((one) => !known(one))) {
    const clipped = clippedLines(file)
    if (!place(bins, piecesOf(file, budget.part), budget))
      skipped.push({ file: file.path, reason: 'the change is larger than what one turn may read, and other files went before this one' })
    else if (clipped.length > 0)
      skipped.push({ file: file.path, reason: `lines too long to be read whole: ${clipped.slice(0, 20).join(', ')}` })
  }
  const parts = bins.map(({ pieces }) => ({
    text: pieces
      .toSorted(byPath)
      .map(({ text }) => text)
      .join('\n\n'),
    // A file with clipped lines was not read whole, so it is shown again whenever it is asked about.
    shown: Object.fromEntries(
      pieces.flatMap(({ file, last }) => (last && clippedLines(file).length === 0 ? [[file.path, hashOfChange(file)]] : [])),
    ),
  }))
  return { parts: parts.length > 0 ? parts : [{ text: '', shown: {} }], unchanged: files.filter(known).map(({ path }) => path), skipped }
}
