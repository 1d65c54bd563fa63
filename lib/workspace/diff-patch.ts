/** Parses the text of git's diff as it comes, within a budget. Lines end at LF and nowhere else. Pure. */
import type { DiffHunk } from '../loop/diff.ts'

/** What stands under one `diff --git` line. */
export interface PatchSection {
  hunks: DiffHunk[]
  binary: boolean
  /** Bytes of its hunks. */
  bytes: number
  /** True where the budget was used up: `hunks` is then empty. */
  tooLarge: boolean
}

export interface PatchParser {
  push(chunk: Buffer): void
  /** The sections, in git's order. */
  end(): PatchSection[]
}

const LF = 10
/** What a line costs of the budget at least: a line that is kept takes more memory than its text. */
export const LEAST_LINE_BYTES = 32
/** Of a line that is not kept, this much is looked at. */
const PREFIX = 512
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/

interface Place {
  hunk: DiffHunk
  oldLeft: number
  newLeft: number
  oldLine: number
  newLine: number
}

const openHunk = (header: RegExpExecArray): Place => {
  const count = (text: string | undefined): number => (text === undefined ? 1 : Number(text))
  const [oldStart, newStart] = [Number(header[1]), Number(header[3])]
  const [oldCount, newCount] = [count(header[2]), count(header[4])]
  const hunk = { oldStart, oldCount, newStart, newCount, lines: [] }
  return { hunk, oldLeft: oldCount, newLeft: newCount, oldLine: oldStart, newLine: newStart }
}

const takeLine = (place: Place, text: string, keep: boolean): void => {
  const mark = text[0] ?? ' '
  if (mark === '\\') return
  const kind = mark === '+' ? 'added' : mark === '-' ? 'removed' : 'context'
  const oldLine = kind === 'added' ? null : place.oldLine++
  const newLine = kind === 'removed' ? null : place.newLine++
  if (oldLine !== null) place.oldLeft--
  if (newLine !== null) place.newLeft--
  if (keep) place.hunk.lines.push({ kind, text: text.slice(1), oldLine, newLine })
}

/**
 * A parser of `git diff-tree --patch`. `budget` is how many bytes of hunks are kept in all, a line counting as 32 at least: a file that would go past it is
 * given without hunks and marked, and its bytes are free again for the files after it.
 */
export const patchParser = (budget: number): PatchParser => {
  const sections: PatchSection[] = []
  let left = budget
  /** Of the budget, by the present section. */
  let cost = 0
  let section: PatchSection | null = null
  let place: Place | null = null
  let partial: Buffer[] = []
  let partialBytes = 0

  const spend = (bytes: number, more = 0): void => {
    if (!section) return
    section.bytes += bytes
    cost += bytes + more
    if (section.tooLarge || cost <= left) return
    section.tooLarge = true
    section.hunks = []
  }
  const inHunk = (): boolean => place !== null && (place.oldLeft > 0 || place.newLeft > 0)
  const line = (bytes: Buffer): void => {
    const keep = section !== null && !section.tooLarge
    if (place && inHunk()) return takeLine(place, keep ? bytes.toString('utf8') : bytes.toString('latin1', 0, PREFIX), keep)
    const text = bytes.toString('latin1', 0, PREFIX)
    if (text.startsWith('diff --git ')) {
      if (section && !section.tooLarge) left -= cost
      cost = 0
      section = { hunks: [], binary: false, bytes: 0, tooLarge: false }
      place = null
      return void sections.push(section)
    }
    const header = HUNK.exec(text)
    if (header) place = openHunk(header)
    if (header && keep) section?.hunks.push(place!.hunk)
    if (section && !place && (text.startsWith('Binary files ') || text === 'GIT binary patch')) section.binary = true
  }
  const flush = (last: Buffer): void => {
    const whole = partial.length === 0 ? last : Buffer.concat([...partial, last])
    partial = []
    partialBytes = 0
    line(whole)
  }
  return {
    push: (chunk) => {
      let start = 0
      for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
        const piece = chunk.subarray(start, end)
        if (inHunk()) spend(piece.length + 1, Math.max(0, LEAST_LINE_BYTES - partialBytes - piece.length - 1))
        flush(section?.tooLarge && partialBytes >= PREFIX ? Buffer.alloc(0) : piece)
        start = end + 1
      }
      const rest = chunk.subarray(start)
      if (rest.length === 0) return
      if (inHunk()) spend(rest.length)
      // A line of a file that is over the budget is not gathered: its first bytes tell what it is.
      if (section?.tooLarge && partialBytes >= PREFIX) return
      partial.push(section?.tooLarge ? Buffer.from(rest.subarray(0, PREFIX)) : rest)
      partialBytes += rest.length
    },
    end: () => {
      if (partial.length > 0) flush(Buffer.alloc(0))
      return sections
    },
  }
}
