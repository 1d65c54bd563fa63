/** The state machine in Amazon States Language (JSONPath), as plain data: what is deployed, and what the embedded engine runs. */
import { RETRIERS, STALE_ERRORS, STEPS, type TaskState } from '../names.ts'
import { taskTimeout } from './functions.ts'

export interface Asl {
  Comment: string
  StartAt: string
  States: Record<string, AslState>
}
export interface AslState {
  Type: 'Task' | 'Choice' | 'Succeed' | 'Fail'
  Comment?: string
  Next?: string
  Default?: string
  Resource?: string
  Parameters?: unknown
  ResultPath?: string | null
  TimeoutSeconds?: number
  TimeoutSecondsPath?: string
  Retry?: AslRetry[]
  Catch?: AslCatch[]
  Choices?: { And: Record<string, unknown>[]; Next: string }[]
  Error?: string
  Cause?: string
}
export interface AslRetry {
  ErrorEquals: string[]
  IntervalSeconds: number
  BackoffRate: number
  MaxDelaySeconds: number
  MaxAttempts: number
  JitterStrategy?: 'FULL'
}
export interface AslCatch {
  ErrorEquals: string[]
  ResultPath: string
  Next: string
}

const retry = (except: readonly string[] = []): AslRetry[] =>
  RETRIERS.map((retrier) => ({
    ErrorEquals: retrier.errors.filter((error) => !except.includes(error)),
    IntervalSeconds: retrier.seconds,
    BackoffRate: retrier.rate,
    MaxDelaySeconds: retrier.longest,
    MaxAttempts: retrier.attempts,
    ...(retrier.spread ? { JitterStrategy: 'FULL' as const } : {}),
  }))

/** A Catch without a ResultPath would put the error in the place of the run's state. */
const caught = (errors: readonly string[], next: string): AslCatch => ({ ErrorEquals: [...errors], ResultPath: '$.error', Next: next })

const catchAll = (next: string): AslCatch[] => [caught(STALE_ERRORS, 'Stale'), caught(['States.ALL'], next)]

/** Steps that Route knows. Decide is reached through Park alone, so `next: Decide` is as wrong as an unknown word. */
const ROUTED = STEPS.filter((step) => step !== 'Decide')

/**
 * The machine. `arnOf` gives the function of a state; `partition` is that of the account.
 * State carries ids, keys and counts; every Task takes the run's state and answers the next one, and Route branches on `$.next`.
 */
export const loopDefinition = (arnOf: (state: TaskState) => string, partition = 'aws'): Asl => {
  const task = (state: TaskState, next = 'Route', failure = 'RecordFailure'): AslState => ({
    Type: 'Task',
    Resource: arnOf(state),
    TimeoutSeconds: taskTimeout(state),
    Retry: retry(),
    Catch: catchAll(failure),
    Next: next,
  })
  return {
    Comment: 'Review, fix and review again until it is clean; certify, publish, close.',
    StartAt: 'Route',
    States: {
      Route: {
        Type: 'Choice',
        Comment: 'A run can be entered at any step.',
        Choices: ROUTED.map((step) => ({
          And: [
            { Variable: '$.next', IsPresent: true },
            { Variable: '$.next', StringEquals: step },
          ],
          Next: step,
        })),
        Default: 'RecordFailure',
      },
      Prepare: task('Prepare'),
      Review: task('Review'),
      Fix: task('Fix'),
      Certify: task('Certify'),
      Park: {
        Type: 'Task',
        Comment: 'Waits for a person. The answer is read from the store, so what woke the state is dropped and the run keeps its own.',
        Resource: `arn:${partition}:states:::lambda:invoke.waitForTaskToken`,
        Parameters: { FunctionName: arnOf('Park'), Payload: { 'state.$': '$', 'token.$': '$$.Task.Token' } },
        ResultPath: null,
        TimeoutSecondsPath: '$.policy.askSeconds',
        // Nobody answered in time: that is no reason to ask again.
        Retry: retry(['States.Timeout']),
        Catch: [caught(STALE_ERRORS, 'Stale'), caught(['States.Timeout'], 'Decide'), caught(['States.ALL'], 'RecordFailure')],
        Next: 'Decide',
      },
      Decide: task('Decide'),
      Publish: task('Publish'),
      RecordFailure: task('RecordFailure', 'Close', 'Failed'),
      Close: task('Close', 'Route', 'Failed'),
      Done: { Type: 'Succeed' },
      Stale: { Type: 'Succeed', Comment: 'A newer execution speaks for the run, or the run has ended: this one ends silently.' },
      Failed: { Type: 'Fail', Error: 'RunFailed', Cause: 'The run has failed; its report says why.' },
    },
  }
}
