/** Reading and writing the run's record: an immutable object a turn. */
import { type TurnRole, turnObjectKey } from '../names.ts'
import { readJson, writeJson } from './artifact.ts'
import type { ArtifactStore } from './ports.ts'
import { emptyRecord, type RunRecord, runRecord } from './record.ts'
import type { RunState } from './run.ts'
import { loadSource } from './source.ts'

/** The record as the state names it; before the first turn an empty one with what Prepare had to say. Errors: ArtifactLost. */
export const loadRecord = async (ports: { artifacts: ArtifactStore }, state: Pick<RunState, 'record' | 'source'>): Promise<RunRecord> => {
  if (state.record) return readJson(ports.artifacts, state.record, runRecord)
  const notices = state.source ? (await loadSource(ports.artifacts, state.source)).notices : []
  return { ...emptyRecord(), notices }
}

/** Gives the key. */
export const storeRecord = async (
  ports: { artifacts: ArtifactStore },
  at: { role: TurnRole; runId: string; turn: number; fence: number },
  record: RunRecord,
): Promise<string> => {
  const key = turnObjectKey('records', at.role, at.runId, at.turn, at.fence)
  await writeJson(ports.artifacts, key, record)
  return key
}
