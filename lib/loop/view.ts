/** A run as people and programs outside may see it: without the task token, the store's own fields, and secrets in texts. */
import type { RunItem } from './items.ts'
import type { TurnRecord } from './record.ts'
import { redactAll } from './redact.ts'

export interface RunView {
  version: 1
  run: Omit<RunItem, 'token' | 'nonce' | 'rev' | 'ttl' | 'closed'>
  turns: TurnRecord[]
}

/** The run alone, for whoever may not read its history. */
export const runOf = (item: RunItem): Omit<RunView, 'turns'> => {
  const { token: _token, nonce: _nonce, rev: _rev, ttl: _ttl, closed: _closed, ...run } = item
  return redactAll({ version: 1, run })
}

export const viewOf = (item: RunItem, turns: TurnRecord[]): RunView => {
  return { ...runOf(item), turns: redactAll(turns) }
}
