/** A scripted run of a given number of rounds: every review finds one defect, every fix mends it. */
import { type Scenario, parseScenario } from '../lib/agents/scripted/scenario.ts'

/** The file that every change and every fix alters. */
export const FILE = 'measured.txt'

/** Turns that the loop takes: a review, two a round, and a certifier where there is something to certify. */
export const turnsOf = (rounds: number): number => 1 + 2 * rounds + (rounds > 0 ? 1 : 0)

export const roundsScenario = (rounds: number): Scenario => {
  const turns = Array.from({ length: 2 * rounds + 1 }, (_, index) => {
    const round = Math.floor(index / 2) + 1
    const defect = { rule: `defect-${round}`, severity: 'error', action: 'auto-fix', file: FILE, line: 1, text: `Defect ${round}.` }
    if (index % 2 === 1) return { role: 'fixer', edits: [{ write: FILE, content: `mended ${round}\n` }] }
    return { role: 'reviewer', findings: round <= rounds ? [defect] : [], accounts: { fixed: 'all' } }
  })
  return parseScenario(JSON.stringify({ turns: Object.fromEntries(turns.map((step, index) => [String(index + 1), step])) }), 'bench')
}
