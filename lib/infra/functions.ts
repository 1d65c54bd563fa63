/** Size, time and environment of every function: one table. */
import {
  type ENV,
  type FunctionName,
  IMAGE_FUNCTIONS,
  MAX_TURN_MINUTES,
  TASK_STATES,
  type TaskState,
  TURN_ROLES,
  STATE_OF_ROLE,
} from '../names.ts'

export interface FunctionSize {
  /** MB; Lambda gives processor time in proportion. */
  memory: number
  /** Seconds until Lambda kills the function. */
  timeout: number
  /** MB of /tmp. */
  disk: number
  /** Environment variables beside those that every function has. */
  env: readonly (keyof typeof ENV)[]
}

const stores = ['sessionsTable', 'runsTable', 'bucket'] as const
/** The longest that Lambda allows, and what an account without a raised quota may ask for. */
const turn = { memory: 3008, timeout: 900, disk: 4096, env: stores } as const satisfies FunctionSize
const small = { memory: 512, timeout: 60, disk: 512 } as const

export const SIZES: Record<FunctionName, FunctionSize> = {
  Prepare: { memory: 2048, timeout: 900, disk: 4096, env: ['runsTable', 'bucket', 'gitTokenSecret', 'publishFunction'] },
  Review: turn,
  Fix: turn,
  Certify: turn,
  Publish: { memory: 2048, timeout: 600, disk: 4096, env: [...stores, 'pushTokenSecret', 'githubKeySecret'] },
  Park: { ...small, env: [...stores, 'machine', 'publishFunction', 'topic'] },
  Decide: { ...small, env: ['runsTable', 'bucket', 'publishFunction'] },
  RecordFailure: { ...small, env: ['sessionsTable', 'runsTable', 'machine', 'publishFunction'] },
  Close: { ...small, timeout: 300, env: [...stores, 'publishFunction', 'topic'] },
  // An HTTP API waits 30 seconds for an answer.
  Start: { ...small, timeout: 29, env: ['sessionsTable', 'runsTable', 'machine', 'gitTokenSecret', 'publishFunction', 'topic'] },
  Show: { ...small, timeout: 29, env: ['runsTable'] },
  Report: { ...small, timeout: 29, env: ['runsTable', 'bucket'] },
  Answer: { ...small, timeout: 29, env: ['runsTable', 'bucket', 'machine'] },
  Abort: { ...small, timeout: 29, env: ['sessionsTable', 'runsTable', 'machine'] },
  Upload: { ...small, timeout: 29, env: ['bucket'] },
  Webhook: { ...small, timeout: 29, env: [...stores, 'machine', 'gitTokenSecret', 'hookSecret', 'publishFunction', 'topic'] },
  Watch: { ...small, env: ['runsTable'] },
}

/** What a Task waits longer than its function may run: Lambda's own time-out is to be seen first, with its name. */
const TASK_MARGIN = 30

/** Seconds until Step Functions gives the Task up. Park has none of its own: it waits as long as the run's policy says. */
export const taskTimeout = (state: TaskState, sizes: Record<FunctionName, FunctionSize> = SIZES): number =>
  sizes[state].timeout + TASK_MARGIN

/** Seconds that a turn needs beside the agent: the workspace before it, the stores after it. */
const TURN_MARGIN = 60

/** Throws unless agent budget < Lambda time-out < task time-out holds for every turn, and Lambda can be asked for it. */
export const checkTimes = (
  sizes: Record<FunctionName, FunctionSize> = SIZES,
  timeouts: Record<TaskState, number> = taskTimeouts(sizes),
  agentSeconds: number = MAX_TURN_MINUTES * 60,
): void => {
  for (const role of TURN_ROLES) {
    const state = STATE_OF_ROLE[role]
    if (agentSeconds + TURN_MARGIN > sizes[state].timeout)
      throw new Error(
        `${state}: an agent may take ${agentSeconds} s and the turn ${TURN_MARGIN} s more, but its function ends after ${sizes[state].timeout} s`,
      )
  }
  for (const state of TASK_STATES) {
    if (sizes[state].timeout > 900) throw new Error(`${state}: Lambda allows 900 s, not ${sizes[state].timeout}`)
    if (timeouts[state] <= sizes[state].timeout)
      throw new Error(`${state}: the task is given up after ${timeouts[state]} s, before its function ends (${sizes[state].timeout} s)`)
  }
}

const taskTimeouts = (sizes: Record<FunctionName, FunctionSize>): Record<TaskState, number> =>
  Object.fromEntries(TASK_STATES.map((state) => [state, taskTimeout(state, sizes)])) as Record<TaskState, number>

export const isImageFunction = (name: FunctionName): boolean => (IMAGE_FUNCTIONS as readonly FunctionName[]).includes(name)
