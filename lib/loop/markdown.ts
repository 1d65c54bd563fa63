/** Markdown around texts of others: what they wrote stays text, on a page and on a forge. */
import { oneLine, printable } from './redact.ts'

/**
 * Text of others, as text: no markup, no HTML, no picture, no mention of people, no link of its own. A forge makes links of references
 * (`#12`, `GH-12`) in the text that the markup comes to, and closes an issue by them, so a sign that nobody sees stands inside.
 */
const escape = (text: string): string =>
  printable(text)
    .replace(/(?<=#|\bGH-)(?=\d)/gi, '\u200b')
    .replace(/[\\`*_[\]#|~<>&]/g, (character) => `&#${character.charCodeAt(0)};`)
    .replace(/(?<=[A-Za-z])(?=:\/\/)|(?<=@|www)(?=[\w.])|\u200b/g, '&#8203;')

export const cell = (text: string, max = 300): string => escape(oneLine(text, max))

/** Lines that cannot begin a list, a heading's underline or a block of code. */
export const paragraph = (text: string): string[] =>
  escape(text)
    .split('\n')
    .map((line) => line.trimStart().replace(/^[-+=]/, (character) => `&#${character.charCodeAt(0)};`))

/** Code spans end at a backtick, so there is none inside. */
export const code = (text: string): string => `\`${oneLine(text, 300).replaceAll('`', "'").replaceAll('|', '\\|')}\``

export const table = (heads: readonly string[], rows: readonly (readonly string[])[]): string[] => [
  `| ${heads.join(' | ')} |`,
  `|${heads.map(() => ' --- |').join('')}`,
  ...rows.map((cells) => `| ${cells.join(' | ')} |`),
]

/** A block of code in a fence that nothing inside it can end. */
export const fenced = (kind: string, lines: readonly string[]): string[] => {
  const longest = Math.max(2, ...lines.flatMap((line) => [...line.matchAll(/`+/g)].map(([run]) => run.length)))
  const fence = '`'.repeat(longest + 1)
  return [`${fence}${kind}`, ...lines, fence]
}

/** At most `max` characters, cut between lines; says that it was. */
export const bounded = (lines: readonly string[], max: number): string => {
  const text = lines.join('\n')
  if (text.length <= max) return text
  const note = '\n\nThe rest does not fit here: it is in the report.'
  const kept: string[] = []
  let length = note.length
  for (const line of lines) {
    length += line.length + 1
    if (length > max) break
    kept.push(line)
  }
  return kept.join('\n') + note
}
