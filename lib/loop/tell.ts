/** Telling the forge: brings it in line with the run's record, as often as it is asked, and fails no run. */
import { asLoopError } from './errors.ts'
import { type OpenBoard, openBoard } from './board.ts'
import { readRun } from './current-run.ts'
import { newsOf, type NewsPorts } from './news.ts'
import type { Invocation, Ports } from './ports.ts'
import type { Teller } from './telling.ts'

type TellPorts = NewsPorts & Pick<Ports, 'effects' | 'teller'>

/** Milliseconds of a function's time that telling may take beside its own work, and that must be left for it to begin. */
const MOST_MS = 180_000
const LEAST_MS = 5000

/**
 * Tells the forge of a run how it stands by now. `begun`: the run is known to be at work. Whoever comes second changes nothing.
 * Errors: RunNotFound; ForgeUnavailable, ForgeThrottled and StoreConflict, after which it is to be asked again.
 */
export const tell = async (
  ports: TellPorts,
  { runId, begun = false }: { runId: string; begun?: boolean },
  invocation: Pick<Invocation, 'signal'>,
): Promise<void> => {
  const { teller } = ports
  const { request } = await readRun(ports.runs, runId)
  if (!teller?.tells(request.repository)) return
  const board = await openBoard(ports, runId, begun, invocation.signal)
  try {
    await tellAll(ports, teller, board, invocation.signal)
  } finally {
    await board.release()
  }
}

const tellAll = async (ports: TellPorts, teller: Teller, board: OpenBoard, signal: AbortSignal): Promise<void> => {
  // Read after the board was taken: whoever had it before has told nothing newer.
  const news = await newsOf(ports, await readRun(ports.runs, board.item.runId), board.item.begun)
  try {
    await teller.tell(news, board, signal)
    await board.forgive('forge')
  } catch (thrown) {
    const error = asLoopError(thrown)
    if (error.entry.class !== 'user' && error.entry.class !== 'service') throw error
    await board.refuse('forge', error)
  }
}

/** As part of another step's work, after it: within bounds, and whatever comes of it is only logged. */
export const tellAside = async (
  ports: TellPorts,
  { runId, begun }: { runId: string; begun: boolean },
  { deadline, signal }: Pick<Invocation, 'deadline' | 'signal'>,
): Promise<void> => {
  if (!ports.teller) return
  const left = Math.min(MOST_MS, deadline - ports.effects.now())
  if (left < LEAST_MS) return
  try {
    await tell(ports, { runId, begun }, { signal: AbortSignal.any([signal, AbortSignal.timeout(left)]) })
  } catch (thrown) {
    const { name, message } = asLoopError(thrown)
    ports.effects.log('warn', `the forge was not told: ${message}`, { runId, error: name })
  }
}
