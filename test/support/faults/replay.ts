/** Seeds as the tests play them, and the command that plays one again. */
import { mutantOf } from './mutants.ts'
import { play, type Played } from './play.ts'

const SUITE = 'test/faults/whole-runs.test.ts'
const MOST_LINES = 400

export interface Wanted {
  seed: number
  git?: boolean
  /** A deliberate fault in the code. */
  mutant?: string | undefined
}

export const playWanted = ({ seed, git = false, mutant }: Wanted): Promise<Played> => {
  const fault = mutant === undefined ? null : mutantOf(mutant)
  return play(seed, { git, ...(fault ? { mutant: fault.mutant } : {}), ...(fault?.plan ? { plan: fault.plan } : {}) })
}

/** What to type to play it again. */
export const commandOf = ({ seed, git = false, mutant }: Wanted): string =>
  [
    `REVIEWLOOP_FAULT_SEED=${seed}`,
    ...(git ? ['REVIEWLOOP_FAULT_GIT=1'] : []),
    ...(mutant === undefined ? [] : [`REVIEWLOOP_FAULT_MUTANT='${mutant}'`]),
    `npm test -- ${SUITE}`,
  ].join(' ')

/** The one seed that the environment names; null where it names none. */
export const wantedBy = (env: NodeJS.ProcessEnv): Wanted | null => {
  const seed = env['REVIEWLOOP_FAULT_SEED']
  if (!seed) return null
  return { seed: Number(seed), git: env['REVIEWLOOP_FAULT_GIT'] === '1', mutant: env['REVIEWLOOP_FAULT_MUTANT'] || undefined }
}

/** Plays it, and fails with what was violated, the command, and the end of what happened. */
export const playOrFail = async (wanted: Wanted): Promise<Played> => {
  const played = await playWanted(wanted)
  if (played.violations.length === 0) return played
  throw new Error(
    [
      `seed ${wanted.seed}: ${played.violations.join('\n  ')}`,
      `Play it again with: ${commandOf(wanted)}`,
      ...played.trace.slice(-MOST_LINES),
    ].join('\n'),
  )
}

/** Long runs take as many seeds as are worth a coffee; the others what everybody can wait for. */
export const isLong = process.env['REVIEWLOOP_LONG'] === '1'

export const chunksOf = (count: number, size: number): number[][] =>
  Array.from({ length: Math.ceil(count / size) }, (_, chunk) =>
    Array.from({ length: Math.min(size, count - chunk * size) }, (_unused, at) => chunk * size + at + 1),
  )
