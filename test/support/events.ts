/** One event for each function, as its caller sends it. */
import { type FunctionName, WEBHOOK_PATH } from '../../lib/names.ts'
import type { RunState } from '../../lib/loop/run.ts'
import { apiEvent } from './http.ts'

const RUN = 'r-0123456789abcdef'

const state = (changes: Partial<RunState> = {}): RunState => ({
  runId: RUN,
  epoch: 1,
  next: 'Review',
  policy: { rounds: 3, certify: 'auto', ask: 'always', continuations: 5, askSeconds: 3600 },
  turn: 0,
  round: 0,
  continuations: 0,
  source: `source/${RUN}/n.json`,
  record: null,
  changeset: null,
  decision: null,
  commit: 'a'.repeat(40),
  certified: null,
  fixed: false,
  spent: { tokens: 0, dollars: 0, milliseconds: 0 },
  last: { step: 'Prepare', empty: false },
  verdict: null,
  ...changes,
})

export const eventOf = (name: FunctionName, repository: string): object => {
  if (name === 'Start') return apiEvent('POST /runs', { body: { repository, branch: 'topic' } })
  if (name === 'Show') return apiEvent('GET /runs/{id}', { id: RUN })
  if (name === 'Report') return apiEvent('GET /runs/{id}/report', { id: RUN })
  if (name === 'Answer') return apiEvent('POST /runs/{id}/decision', { id: RUN, body: { answer: { kind: 'approve' } } })
  if (name === 'Abort') return apiEvent('POST /runs/{id}/abort', { id: RUN })
  if (name === 'Upload') return apiEvent('POST /uploads', { body: { repository, bytes: 1, sha256: 'a'.repeat(64) } })
  if (name === 'Webhook') return { routeKey: `POST ${WEBHOOK_PATH}`, requestContext: {}, body: '{}' }
  if (name === 'Watch') return { source: 'aws.events' }
  if (name === 'Park') return { state: state({ next: 'Park' }), token: 'a-token' }
  if (name === 'RecordFailure') return { ...state(), error: { Error: 'AgentFailed', Cause: 'why' } }
  if (name === 'Prepare') return state({ next: 'Prepare', source: null, last: null })
  return state()
}
