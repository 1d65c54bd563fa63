/** Tools differ in what ends a line; git knows line feeds alone. Offsets are what all of them agree on. */

/** Offsets at which lines start, with `breaks` (a global expression) between them. */
export const lineStarts = (text: string, breaks: RegExp): number[] => {
  const starts = [0]
  for (const match of text.matchAll(breaks)) starts.push(match.index + match[0].length)
  return starts
}

/** As git counts: there is no line after the last line feed. */
export const gitLineStarts = (text: string): number[] => lineStarts(text.replace(/\n$/u, ''), /\n/gu)

/** Offset of a line (from 1) and column (from 0), held inside the text. */
export const offsetOf = (starts: readonly number[], line: number, column: number, length: number): number =>
  Math.max(0, Math.min((starts[Math.min(line, starts.length) - 1] ?? 0) + Math.max(0, column), length))

/** Line, from 1, that holds an offset. */
export const lineAt = (starts: readonly number[], offset: number): number => {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low + 1
}
