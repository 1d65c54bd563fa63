/** Drives a run through the use cases as the state machine would, on whatever ports a test has: no engine, no clock. */
import { certify, review } from '../../lib/loop/review.ts'
import { close } from '../../lib/loop/close.ts'
import { decide } from '../../lib/loop/decide.ts'
import { fix } from '../../lib/loop/fix.ts'
import { park } from '../../lib/loop/park.ts'
import type { Ports } from '../../lib/loop/ports.ts'
import { prepare } from '../../lib/loop/prepare.ts'
import { publish } from '../../lib/loop/publish.ts'
import type { RunState } from '../../lib/loop/run.ts'
import type { Step } from '../../lib/names.ts'
import { invocationOf } from './ports.ts'

/** Takes one step. Park stores its question under the token `token`; the caller answers and goes on with `Decide`. */
export const takeStep = async (ports: Ports, state: RunState): Promise<RunState> => {
  const invocation = invocationOf(ports)
  switch (state.next) {
    case 'Prepare':
      return prepare(ports, state, invocation)
    case 'Review':
      return review(ports, state, invocation)
    case 'Fix':
      return fix(ports, state, invocation)
    case 'Certify':
      return certify(ports, state, invocation)
    case 'Publish':
      return publish(ports, state, invocation)
    case 'Close':
      return close(ports, state)
    case 'Park':
      await park(ports, state, 'token')
      return { ...state, next: 'Decide' }
    case 'Decide':
      return decide(ports, state)
    case 'Done':
    case 'Failed':
      return state
  }
}

/** Goes on until one of `until` is next; gives the state and the steps that were taken. */
export const driveUntil = async (ports: Ports, from: RunState, ...until: Step[]): Promise<{ state: RunState; steps: Step[] }> => {
  const steps: Step[] = []
  let state = from
  while (!until.includes(state.next)) {
    if (steps.length > 200) throw new Error(`no end in sight: ${steps.slice(-10).join(', ')}`)
    steps.push(state.next)
    state = await takeStep(ports, state)
  }
  return { state, steps }
}
