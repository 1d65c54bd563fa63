/** A run as people and programs outside may see it: without the task token, the store's own fields, and secrets in texts. */
import * as z from 'zod'
import type { RunItem } from './items.ts'
import type { TurnRecord } from './record.ts'
import { redactAll } from './redact.ts'
import { type ForgeItem, told } from './telling.ts'

export interface RunView {
  version: 1
  run: Omit<RunItem, 'token' | 'nonce' | 'rev' | 'ttl' | 'closed'>
  turns: TurnRecord[]
  forge: ForgeView | null
}

/** What the forge shows of a run, and what it would not take. */
export const forgeView = z.strictObject({
  pieces: z.array(z.strictObject({ piece: z.string(), ...told.shape })),
  refused: z.array(z.strictObject({ piece: z.string(), error: z.string(), message: z.string(), at: z.iso.datetime() })),
})
export type ForgeView = z.infer<typeof forgeView>

/** The run alone, for whoever may not read its history. */
export const runOf = (item: RunItem): Omit<RunView, 'turns' | 'forge'> => {
  const { token: _token, nonce: _nonce, rev: _rev, ttl: _ttl, closed: _closed, ...run } = item
  return redactAll({ version: 1, run })
}

const forgeOf = ({ pieces, refused }: ForgeItem): ForgeView => ({
  pieces: Object.entries(pieces).map(([piece, { id, url }]) => ({ piece, id, url })),
  refused: Object.entries(refused).map(([piece, why]) => ({ piece, ...why })),
})

/** `forge`: what the run's forge was told; null where it is told nothing. */
export const viewOf = (item: RunItem, turns: TurnRecord[], forge: ForgeItem | null): RunView => ({
  ...runOf(item),
  turns: redactAll(turns),
  forge: forge && redactAll(forgeOf(forge)),
})
