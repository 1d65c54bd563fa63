/** From bytes to text that a linter may be given, or the reason why not. */

export const MAX_BYTES = 512 * 1024
const MAX_LINE = 20_000

export interface SourceText {
  /** Without the byte order mark: linters count from after it. */
  text: string
  /** Put back when the file is written. */
  bom: boolean
}

const startsWith = (bytes: Uint8Array, ...head: number[]): boolean => head.every((byte, index) => bytes[index] === byte)

const longestLine = (text: string): number => {
  let longest = 0
  for (let start = 0; start <= text.length;) {
    const end = text.indexOf('\n', start)
    longest = Math.max(longest, (end < 0 ? text.length : end) - start)
    start = end < 0 ? text.length + 1 : end + 1
  }
  return longest
}

export const sourceText = (bytes: Uint8Array): SourceText | { skip: string } => {
  if (bytes.byteLength > MAX_BYTES) return { skip: `over ${MAX_BYTES / 1024} KB` }
  if (startsWith(bytes, 0xff, 0xfe) || startsWith(bytes, 0xfe, 0xff)) return { skip: 'UTF-16 text, which no linter here reads' }
  if (bytes.includes(0)) return { skip: 'binary' }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (longestLine(text) > MAX_LINE) return { skip: `a line over ${MAX_LINE.toLocaleString('en')} characters` }
    return { text, bom: startsWith(bytes, 0xef, 0xbb, 0xbf) }
  } catch {
    return { skip: 'not UTF-8 text' }
  }
}

export const bytesOf = ({ text, bom }: SourceText): Uint8Array => new TextEncoder().encode(bom ? `\uFEFF${text}` : text)
