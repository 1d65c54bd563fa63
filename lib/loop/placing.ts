/** Places on the lines that people see: of findings, and of fixes as suggested changes. Pure. */
import type { Comparison, DiffFile, DiffHunk, DiffLine } from './diff.ts'
import { printable, redact } from './redact.ts'

/** Lines of a file, from 1, both ends included. */
export interface Span {
  file: string
  start: number
  end: number
}

/** A fix as a change of some lines: `lines` take their place. */
export interface Suggestion extends Span {
  lines: string[]
}

const MOST_LINES = 100

/** Whether every line of a span stands in one hunk of the diff, on the new side: a comment may stand there. */
export const standsIn = (diff: readonly DiffFile[]): ((span: Span) => boolean) => {
  const hunks = new Map(diff.map((file) => [file.path, file.hunks]))
  const covers = ({ newStart, newCount }: DiffHunk, { start, end }: Span) => newStart <= start && end < newStart + newCount
  return (span) => span.start <= span.end && (hunks.get(span.file)?.some((hunk) => covers(hunk, span)) ?? false)
}

/** The line before the fixes that a line after them was; null for a line that the fixes made. */
export const lineBefore = (fixes: readonly DiffFile[]): ((file: string, line: number) => number | null) => {
  const files = new Map(fixes.map((file) => [file.path, file]))
  return (path, line) => {
    const file = files.get(path)
    if (!file) return line
    if (file.omitted || file.status !== 'modified') return null
    let shift = 0
    for (const { newStart, newCount, oldCount, lines } of file.hunks) {
      // A hunk without new lines names the line before it.
      if (line < (newCount === 0 ? newStart + 1 : newStart)) break
      if (line < newStart + newCount) return lines.find(({ newLine }) => newLine === line)?.oldLine ?? null
      shift += oldCount - newCount
    }
    return line + shift
  }
}

/** Runs of lines that a hunk changes, each with its neighbours. */
const changesOf = ({ lines }: DiffHunk): { removed: DiffLine[]; added: DiffLine[]; before: DiffLine | null; after: DiffLine | null }[] => {
  const changes: ReturnType<typeof changesOf> = []
  let at = 0
  while (at < lines.length) {
    const from = at
    while (at < lines.length && lines[at]?.kind !== 'context') at++
    if (at > from) {
      const run = lines.slice(from, at)
      changes.push({
        removed: run.filter(({ kind }) => kind === 'removed'),
        added: run.filter(({ kind }) => kind === 'added'),
        before: lines[from - 1] ?? null,
        after: lines[at] ?? null,
      })
    }
    at++
  }
  return changes
}

/** A suggestion replaces lines and adds none between them: what is only added takes its neighbour along. */
const suggestionOf = (file: string, change: ReturnType<typeof changesOf>[number]): Suggestion | null => {
  const texts = (some: readonly (DiffLine | null)[]) => some.flatMap((line) => (line ? [line.text] : []))
  const { removed, added, before, after } = change
  const [first, last] = [removed[0]?.oldLine, removed.at(-1)?.oldLine]
  if (first && last) return { file, start: first, end: last, lines: texts(added) }
  if (before?.oldLine) return { file, start: before.oldLine, end: before.oldLine, lines: texts([before, ...added]) }
  if (after?.oldLine) return { file, start: after.oldLine, end: after.oldLine, lines: texts([...added, after]) }
  return null
}

/** What is taken over by a click has to be what the fix is, byte for byte: nothing is escaped in it, and nothing may have to be. */
const isPlain = ({ lines }: Suggestion): boolean =>
  lines.length <= MOST_LINES && lines.every((line) => !line.includes('\r') && printable(line) === line && redact(line) === line)

/** The fixes as suggested changes of the head, as far as they lie on lines of the change. */
export const suggestionsOf = ({ head, fixes }: Comparison): Suggestion[] => {
  const isOnDiff = standsIn(head)
  return fixes
    .filter(({ status, omitted }) => status === 'modified' && !omitted)
    .flatMap(({ path, hunks }) => hunks.flatMap(changesOf).flatMap((change) => suggestionOf(path, change) ?? []))
    .filter((suggestion) => isOnDiff(suggestion) && isPlain(suggestion))
}
