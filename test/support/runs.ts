/** Runs in the states that tests of the use cases begin from. */
import type { RunItem } from '../../lib/loop/items.ts'
import type { Ports } from '../../lib/loop/ports.ts'
import { emptyRecord, type RunRecord } from '../../lib/loop/record.ts'
import { storeRecord } from '../../lib/loop/run-record.ts'
import type { RunRequest, RunState } from '../../lib/loop/run.ts'
import { startRun } from '../../lib/loop/start.ts'
import { BASE, HEAD, stateOf } from './ports.ts'

export const requestOf = (change: Partial<RunRequest> = {}): RunRequest => ({
  repository: 'https://git.example/team/project',
  branch: 'feature',
  base: BASE,
  head: HEAD,
  overrides: {},
  attempt: 1,
  publishTo: null,
  ...change,
})

/** A run that was just started, with the state its execution was given. */
export const aRun = async (ports: Ports, change: Partial<RunRequest> = {}): Promise<{ run: RunItem; state: RunState }> => {
  const { run } = await startRun(ports, { request: requestOf(change), startedBy: 'test', checkHead: false })
  return { run, state: stateOf({ runId: run.runId, next: 'Prepare', commit: run.request.head }) }
}

/** The state after a review turn that left `record` open and blocking. */
export const afterReview = async (ports: Ports, state: RunState, record: Partial<RunRecord> = {}): Promise<RunState> => {
  const key = await storeRecord(
    ports,
    { role: 'reviewer', runId: state.runId, turn: state.turn + 1, fence: 1 },
    { ...emptyRecord(), ...record },
  )
  return {
    ...state,
    turn: state.turn + 1,
    next: 'Park',
    record: key,
    last: { step: 'Review', ended: 'done', open: { autoFix: 0, other: 1, stuck: 0 }, limit: null },
  }
}

export const aFinding = (id = 'f-0000000001'): RunRecord['findings'][number] => ({
  id,
  rule: 'no-eval',
  severity: 'error',
  action: 'ask-user',
  file: 'a.js',
  line: 1,
  text: 'eval runs whatever it is given',
  inDiff: true,
  status: 'open',
  leftUnfixed: 0,
  returned: false,
  history: [{ event: 'raised', turn: 1, round: 0 }],
})
