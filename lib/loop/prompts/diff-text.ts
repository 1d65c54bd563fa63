/** The change as an agent reads it: line numbers of the file as it is now, so that a finding can name them. */
import { createHash } from 'node:crypto'
import type { DiffFile, DiffLine } from '../diff.ts'

/** Characters of a line past which the rest is left out: one line of a minified file may be the whole file. */
export const MOST_LINE = 2000

const SIGN = { context: ' ', added: '+', removed: '-' } as const

/** Names are quoted: they may hold line feeds. */
export const headOf = ({ path, oldPath, status, omitted }: DiffFile): string =>
  `${status} ${JSON.stringify(path)}${oldPath === null ? '' : ` from ${JSON.stringify(oldPath)}`}${omitted === null ? '' : ` (not shown: ${JSON.stringify(omitted)})`}`

const clip = (text: string): string =>
  text.length > MOST_LINE ? `${text.slice(0, MOST_LINE)} … and ${text.length - MOST_LINE} more characters of this line` : text

const lineText = ({ kind, text, newLine }: DiffLine): string =>
  `${String(newLine ?? '').padStart(6)} ${SIGN[kind]} ${clip(text.replace(/\r$/, ''))}`

/** Added lines that are too long to be shown whole. */
export const clippedLines = (file: DiffFile): number[] =>
  file.hunks.flatMap(({ lines }) =>
    lines.flatMap(({ kind, text, newLine }) => (kind === 'added' && newLine !== null && text.length > MOST_LINE ? [newLine] : [])),
  )

/** Tokens of a text, on the high side: models count two to four characters of source code as one. */
export const tokensOfText = (text: string): number => Math.ceil(Buffer.byteLength(text) / 3)

/** Part of a file's change. `last`: with it the whole change of the file has been shown. */
export interface Piece {
  file: DiffFile
  text: string
  tokens: number
  last: boolean
}

/** The change of a file, in pieces of at most about `tokens` each. A file whose content is not shown is one piece of one line. */
export const piecesOf = (file: DiffFile, tokens: number): Piece[] => {
  const head = headOf(file)
  const pieces: Piece[] = []
  let lines: string[] = []
  let size = 0
  const close = (last: boolean): void => {
    const part = pieces.length > 0 ? ' (continued)' : ''
    const text = [`${head}${part}`, ...lines].join('\n')
    pieces.push({ file, text, tokens: tokensOfText(text), last })
    lines = []
    size = 0
  }
  const add = (line: string): void => {
    const more = tokensOfText(`${line}\n`)
    if (lines.length > 0 && size + more > tokens) close(false)
    lines.push(line)
    size += more
  }
  for (const hunk of file.hunks) {
    add(`@@ from line ${hunk.newStart}`)
    for (const line of hunk.lines) add(lineText(line))
  }
  close(true)
  return pieces
}

/** Tells whether the change of a file is the one that was shown before. */
export const hashOfChange = (file: DiffFile): string =>
  createHash('sha256')
    .update(JSON.stringify([headOf(file), file.newMode, file.hunks]))
    .digest('hex')
    .slice(0, 16)

/** Added and removed lines. */
export const sizeOf = (file: DiffFile): { added: number; removed: number } => {
  const size = { added: 0, removed: 0 }
  for (const { lines } of file.hunks) for (const { kind } of lines) if (kind !== 'context') size[kind] += 1
  return size
}
