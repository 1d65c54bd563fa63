/** State Park: asks people, once, and lets the execution wait under a task token. */
import { TURN_ROLES } from '../names.ts'
import { assertCurrent, changeRun, readCurrentRun } from './current-run.ts'
import { LoopError } from './errors.ts'
import { nextStep } from './next-step.ts'
import { parkedNotice } from './notice.ts'
import type { Ports } from './ports.ts'
import { makeQuestion } from './question.ts'
import { loadRecord } from './run-record.ts'
import type { RunState } from './run.ts'
import { extendTtl } from './turn-item.ts'
import { turnOf } from './verdict.ts'

type ParkPorts = Pick<Ports, 'runs' | 'sessions' | 'artifacts' | 'effects' | 'executions' | 'announce' | 'notify'>

/**
 * Stores the question and the token, and puts every TTL of the run past its own bound. A question that was answered before
 * the execution got here, or whose time is over, wakes the execution at once.
 * Errors: StaleExecution, StaleTurn, StoreConflict.
 */
export const park = async (ports: ParkPorts, state: RunState, token: string): Promise<void> => {
  await readCurrentRun(ports.runs, state)
  const record = await loadRecord(ports, state)
  const asked = makeQuestion(state, record, nextStep(state).why ?? 'ask-user', ports.effects.now())
  let isNew = false
  const run = await changeRun(ports, state.runId, (current) => {
    assertCurrent(current, state)
    // The run has gone on without this worker: its question would take the place of a later one, and of the answer to that.
    if (current.question && turnOf(current.question.id) > state.turn)
      throw new LoopError('StaleTurn', `Run ${state.runId} asks about turn ${turnOf(current.question.id)} by now.`, { runId: state.runId })
    const again = current.question?.id === asked.id
    isNew = !again
    return {
      status: 'parked',
      token,
      record: state.record,
      question: again ? current.question : asked,
      decision: again ? current.decision : null,
    }
  })
  if (isNew) ports.effects.happened({ kind: 'parked', runId: state.runId })
  const until = Date.parse(run.question?.expiresAt ?? asked.expiresAt)
  await Promise.all(TURN_ROLES.map((role) => keepPast(ports, { runId: state.runId, role }, until)))
  if (run.decision || until <= ports.effects.now()) return ports.executions.wake(token)
  await ports.announce(state.runId)
  await ports.notify(parkedNotice(run, record, run.question ?? asked))
}

const keepPast = async (ports: ParkPorts, key: { runId: string; role: (typeof TURN_ROLES)[number] }, until: number): Promise<void> => {
  for (let tries = 0; tries < 8; tries++) {
    const item = await ports.sessions.read(key)
    const next = item && extendTtl(item, { until, now: ports.effects.now(), nonce: ports.effects.nonce() })
    if (!next || (await ports.sessions.write(key, next))) return
  }
}
