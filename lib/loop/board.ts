/** The board: what a forge was told of a run, one piece after the other, each recorded before the next. One worker at a time. */
import { createHash } from 'node:crypto'
import { KEEP_SECONDS } from './current-run.ts'
import { asLoopError, LoopError } from './errors.ts'
import type { Ports } from './ports.ts'
import { redact } from './redact.ts'
import type { Board, ForgeItem, Piece, Told } from './telling.ts'

type BoardPorts = Pick<Ports, 'runs' | 'effects'>

/**
 * Milliseconds that a worker has to itself from one piece to the next, and that a piece may take. An asynchronous call of Lambda's is
 * made again after one minute and after two more: by then a worker that was killed has nothing to itself any more.
 */
const LEASE_MS = 150_000
const PIECE_MS = 120_000
const TRIES = 8

const emptyItem = (runId: string): ForgeItem => ({ runId, rev: 0, nonce: '-', busy: null, begun: false, pieces: {}, refused: {}, ttl: 0 })

const isBusy = ({ busy }: ForgeItem, { effects }: BoardPorts): boolean =>
  busy !== null && busy.until > effects.now() && busy.owner === effects.owner

const busyError = (runId: string) => new LoopError('StoreConflict', `Another worker tells the forge of run ${runId}.`, { runId })

export interface OpenBoard extends Board {
  readonly item: ForgeItem
  /** Records that the forge would not take something. */
  refuse(name: string, error: LoopError): Promise<void>
  /** The forge takes it again. */
  forgive(name: string): Promise<void>
  /** Lets others tell. What cannot be written is left to run out. */
  release(): Promise<void>
}

/** Takes the board of a run. Errors: StoreConflict while another worker has it. */
export const openBoard = async (ports: BoardPorts, runId: string, begun: boolean, signal: AbortSignal): Promise<OpenBoard> => {
  const { effects } = ports
  let item = emptyItem(runId)

  const put = async (from: ForgeItem, change: Partial<ForgeItem>): Promise<boolean> => {
    const busy = { until: effects.now() + LEASE_MS, owner: effects.owner }
    const ttl = Math.floor(effects.now() / 1000) + KEEP_SECONDS
    const next: ForgeItem = { ...from, busy, ...change, rev: from.rev + 1, nonce: effects.nonce(), ttl }
    const took = await ports.runs.forges.write(runId, next)
    if (took) item = next
    return took
  }
  const record = async (change: Partial<ForgeItem>): Promise<void> => {
    if (!(await put(item, change))) throw busyError(runId)
  }
  const refuse = async (name: string, error: LoopError): Promise<void> => {
    effects.log('warn', `the forge was not told: ${error.message}`, { runId, piece: name, error: error.name })
    const { message = '' } = item.refused[name] ?? {}
    const said = redact(error.message).slice(0, 500)
    if (message === said) return
    await record({ refused: { ...item.refused, [name]: { error: error.name, message: said, at: new Date(effects.now()).toISOString() } } })
  }
  const known = (name: string): Told | null => item.pieces[name] ?? null

  const bringInLine = async (name: string, piece: Piece, within: AbortSignal): Promise<Told> => {
    const says = createHash('sha256').update(piece.says).digest('hex').slice(0, 32)
    const before = item.pieces[name]
    if (before && (before.says === says || !piece.update)) return before
    const found = before ?? (await piece.find(within))
    const { id, url } = found ?? (await piece.create(within))
    if (found && piece.update) await piece.update(id, within)
    const { [name]: _refused, ...refused } = item.refused
    await record({ pieces: { ...item.pieces, [name]: { id, url, says } }, refused })
    return { id, url }
  }

  for (let tries = 0; ; tries++) {
    const current = (await ports.runs.forges.read(runId)) ?? emptyItem(runId)
    if (isBusy(current, ports) || tries === TRIES) throw busyError(runId)
    if (await put(current, { begun: current.begun || begun })) break
  }
  return {
    get item() {
      return item
    },
    known,
    refuse,
    forgive: async (name) => {
      const { [name]: before, ...refused } = item.refused
      if (before) await record({ refused })
    },
    bring: async (name, piece) => {
      try {
        return await bringInLine(name, piece, AbortSignal.any([signal, AbortSignal.timeout(PIECE_MS)]))
      } catch (thrown) {
        const error = asLoopError(thrown)
        if (error.entry.class !== 'user' && error.entry.class !== 'service') throw error
        await refuse(name, error)
        return null
      }
    },
    release: async () => {
      await put(item, { busy: null }).catch(() => false)
    },
  }
}
