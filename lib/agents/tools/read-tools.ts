/** Tools that read the workspace. Their results are bounded: what is left out is said, with the way to get at it. */
import * as z from 'zod'
import type { AgentTurn } from '../../loop/agent.ts'
import { piecesOf } from '../../loop/prompts/diff-text.ts'
import { type Tool, tool, ToolRefusal } from './tool.ts'

const MOST_NAMES = 500
const MOST_LINES = 500
const MOST_LINE = 2000
const MOST_HITS = 100
const MOST_FILE_BYTES = 2_000_000
const MOST_SEARCHED_BYTES = 200_000_000
const DIFF_TOKENS = 10_000

/** A name that would break the line it stands on is quoted. */
const shown = (path: string): string => (/[\p{Cc}"\\]/u.test(path) ? JSON.stringify(path) : path)

const clip = (line: string): string =>
  line.length > MOST_LINE ? `${line.slice(0, MOST_LINE)} … and ${line.length - MOST_LINE} more characters` : line

const below = (folder: string): ((path: string) => boolean) => {
  const prefix = folder.replace(/^\.?\/+|^\.$|\/+$/g, '')
  return (path) => prefix === '' || path.startsWith(`${prefix}/`)
}

const isText = (bytes: Uint8Array): boolean => !bytes.subarray(0, 8000).includes(0)

/** Lines as everything here counts them: they end at line feeds alone. */
const linesOf = (bytes: Uint8Array): string[] =>
  new TextDecoder()
    .decode(bytes)
    .replace(/\n$/, '')
    .split('\n')
    .map((line) => line.replace(/\r$/, ''))

const readText = async ({ files }: AgentTurn, path: string): Promise<string[]> => {
  const bytes = await files.read(path)
  if (!bytes) throw new ToolRefusal('there is no such file')
  if (!isText(bytes)) throw new ToolRefusal('the file is binary')
  return linesOf(bytes)
}

const folder = z.string().max(4096).nullish().describe('A folder from the root of the repository; null for all of it.')
const file = z.string().min(1).max(4096).describe('Path from the root of the repository, with forward slashes.')

const listFiles = tool(
  'list_files',
  `Lists the files of the repository as it is now, at most ${MOST_NAMES}.`,
  z.strictObject({ folder }),
  async ({ folder: at }, { files }) => {
    const found = (await files.list()).filter(below(at ?? ''))
    if (found.length === 0) return 'There is no file in that folder.'
    const more = found.length > MOST_NAMES ? [`… and ${found.length - MOST_NAMES} more: name a folder`] : []
    return [...found.slice(0, MOST_NAMES).map(shown), ...more].join('\n')
  },
)

const readFile = tool(
  'read_file',
  `Reads a file as it is now, with line numbers, at most ${MOST_LINES} lines.`,
  z.strictObject({ file, line: z.int().min(1).nullish().describe('First line to read; null for the first of the file.') }),
  async ({ file: path, line }, turn) => {
    const lines = await readText(turn, path)
    const from = line ?? 1
    if (from > lines.length) return `The file has ${lines.length} lines.`
    const part = lines.slice(from - 1, from - 1 + MOST_LINES)
    const more = lines.length - (from - 1 + part.length)
    return [
      ...part.map((text, index) => `${String(from + index).padStart(6)} ${clip(text)}`),
      ...(more > 0 ? [`… and ${more} more lines: read from line ${from + part.length}`] : []),
    ].join('\n')
  },
)

const search = tool(
  'search',
  `Finds the lines that hold a text, to the letter, in the repository as it is now; at most ${MOST_HITS}.`,
  z.strictObject({ text: z.string().min(1).max(1000), folder }),
  async ({ text, folder: at }, turn) => {
    const hits: string[] = []
    let read = 0
    for (const path of (await turn.files.list()).filter(below(at ?? ''))) {
      turn.signal.throwIfAborted()
      // A file that is too large for this is not searched; one that was refused says nothing of the others.
      const bytes = await turn.files.read(path, MOST_FILE_BYTES).catch(() => null)
      if (!bytes || !isText(bytes)) continue
      read += bytes.byteLength
      for (const [index, line] of linesOf(bytes).entries())
        if (line.includes(text)) hits.push(`${shown(path)}:${index + 1}: ${clip(line).slice(0, 500)}`)
      if (hits.length > MOST_HITS)
        return [...hits.slice(0, MOST_HITS), '… and more: search for something longer, or in a folder'].join('\n')
      if (read > MOST_SEARCHED_BYTES) return [...hits, '… and the rest was not searched: name a folder'].join('\n')
    }
    return hits.join('\n') || 'No line holds that text.'
  },
)

const diff = tool(
  'diff',
  'Shows the change of one file against the base.',
  z.strictObject({ file, part: z.int().min(1).nullish().describe('Part of a change that is too large to be shown at once, from 1.') }),
  async ({ file: path, part }, { prompt }) => {
    const changed = prompt.task.diff.find((one) => one.path === path || one.oldPath === path)
    if (!changed) throw new ToolRefusal('the change does not touch that file')
    const pieces = piecesOf(changed, DIFF_TOKENS)
    const piece = pieces[(part ?? 1) - 1]
    if (!piece) throw new ToolRefusal(`the change of that file has ${pieces.length} parts`)
    return pieces.length > 1 ? `${piece.text}\n(part ${part ?? 1} of ${pieces.length})` : piece.text
  },
)

export const READ_TOOLS: readonly Tool[] = [listFiles, readFile, search, diff]
