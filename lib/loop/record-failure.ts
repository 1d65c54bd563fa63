/** State RecordFailure: what failed goes onto the run item; the run is ended by Close like any other. */
import { assertCurrent, changeRun } from './current-run.ts'
import { isErrorName, LoopError } from './errors.ts'
import type { Ports } from './ports.ts'
import { redact } from './redact.ts'
import type { RunState, StateWithError, Verdict } from './run.ts'
import { endUnder, type Failure } from './end-run.ts'

/** Reads `$.error` of a Catch: Lambda gives the cause as JSON with an errorMessage, the embedded engine the bare message. */
export const failureOf = (error: StateWithError['error']): Failure => {
  const name = error?.Error ?? 'Unexpected'
  let message = error?.Cause ?? ''
  try {
    const parsed: unknown = JSON.parse(message)
    if (parsed && typeof parsed === 'object' && 'errorMessage' in parsed) message = String(parsed.errorMessage)
  } catch {
    // A bare message.
  }
  return {
    error: isErrorName(name) ? name : 'Unexpected',
    message: redact(isErrorName(name) ? message : `${name}: ${message}`).slice(0, 2000),
  }
}

const failed = (error: string): Verdict => ({ outcome: 'failed', reason: 'failed', by: null, error })

/** What was published stays so: of a run that has its verdict only Close is left. Errors: StaleExecution, StoreConflict. */
export const recordFailure = async (ports: Pick<Ports, 'runs' | 'effects' | 'announce'>, input: StateWithError): Promise<RunState> => {
  const { error, ...state } = input
  const failure = failureOf(error)
  const { verdict } = await changeRun(ports, state.runId, (run) => {
    assertCurrent(run, state)
    const ending = run.verdict ? {} : { failure, verdict: failed(failure.error), record: state.record ?? run.record }
    return { ...ending, status: 'running', token: null }
  })
  // Close tells it again, unless it fails for the same reason.
  await ports.announce(state.runId)
  return { ...state, next: 'Close', verdict }
}

/**
 * An execution that ended where no Catch could see it (stopped, timed out, a run-time error, the history limit): the run is
 * failed under a new epoch, whose execution does nothing but Close; a Close that was lost is taken up again. An execution that no
 * longer speaks for its run is left alone.
 */
export const recordLostExecution = async (
  ports: Pick<Ports, 'runs' | 'sessions' | 'executions' | 'effects'>,
  execution: { name: string; status: string; error?: string | undefined; cause?: string | undefined },
): Promise<{ closed: boolean }> => {
  const [, runId, epoch] = /^(r-[0-9a-f]{16})-(\d+)$/.exec(execution.name) ?? []
  if (!runId) throw new LoopError('BadRequest', `${execution.name} is not an execution of a run.`)
  return endUnder(ports, runId, {
    only: Number(epoch),
    verdict: failed('Unexpected'),
    failure: {
      error: 'Unexpected',
      message: redact(`The execution ended as ${execution.status}: ${execution.error ?? ''} ${execution.cause ?? ''}`).slice(0, 2000),
    },
  })
}
