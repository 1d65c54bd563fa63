/** Tables as Markdown. */
const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

export const code = (text: string): string => `\`${text}\``

export const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |\n`).join('')
