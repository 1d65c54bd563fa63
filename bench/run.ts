/** `npm run bench`: one table; `npm run bench -- tokens`: what sessions save. Figures of one run compare with each other; those of two machines or two days do not. */
import { bundles } from './bundles.ts'
import { crowd } from './crowd.ts'
import { tokens } from './tokens.ts'
import { transitions, turns } from './turns.ts'

export interface Figure {
  figure: string
  value: string
  how: string
}

const TABLES: Record<string, () => Promise<void>> = { tokens }
const named = process.argv[2]
if (named !== undefined) {
  const table = TABLES[named]
  if (!table) throw new Error(`there is no ${named}; there are ${Object.keys(TABLES).join(', ')}`)
  await table()
  process.exit(0)
}

const figures: Figure[] = []
for (const [name, take] of Object.entries({ turns, transitions, bundles, crowd })) {
  process.stderr.write(`measuring ${name} …\n`)
  figures.push(...(await take()))
}
const widths = (['figure', 'value', 'how'] as const).map((key) => Math.max(key.length, ...figures.map((row) => row[key].length)))
const line = (cells: readonly string[]): string =>
  `| ${cells.map((cell, column) => (column === 1 ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0))).join(' | ')} |`
console.log(line(['figure', 'value', 'how']))
console.log(line(widths.map((width) => '-'.repeat(width))))
for (const { figure, value, how } of figures) console.log(line([figure, value, how]))
