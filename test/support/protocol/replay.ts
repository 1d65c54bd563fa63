/** `npm run replay -- SEED [--mutant NAME]`: shows one schedule step by step, and what did not hold in it. Exit code 1 where something did not. */
import { parseArgs } from 'node:util'
import { CHECKOUT, loadSystem } from './system.ts'
import { MUTANTS, mutantCalled, withMutant } from './mutants.ts'
import { type Played, play } from './schedule.ts'

const { values, positionals } = parseArgs({ options: { mutant: { type: 'string' } }, allowPositionals: true })
const seed = Number(positionals[0] ?? process.env['REVIEWLOOP_SEED'] ?? Number.NaN)
if (!Number.isSafeInteger(seed)) {
  console.error(`npm run replay -- SEED [--mutant NAME], where NAME is one of: ${MUTANTS.map(({ name }) => name).join('; ')}`)
  process.exit(2)
}

const mutant = values.mutant === undefined ? null : mutantCalled(values.mutant)
const from = async (root: string): Promise<Played> =>
  play({ system: await loadSystem(root), seed, overwrites: mutant?.overwrites ?? false })
const played = mutant ? await withMutant(mutant, from) : await from(CHECKOUT)
console.log(played.trace.join('\n'))
console.log(
  played.violation === null ? `seed ${seed} held: ${played.outcomes.join(', ')}` : `seed ${seed} does not hold: ${played.violation}`,
)
process.exitCode = played.violation === null ? 0 : 1
