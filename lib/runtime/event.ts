/** What a function is given is checked before anything is done with it. */
import * as z from 'zod'
import { LoopError } from '../loop/errors.ts'
import { firstIssue } from '../loop/issue.ts'
import { type RunState, runState } from '../loop/run.ts'

/** Errors: BadRequest, naming the first field that does not fit. */
export const parseEvent = <T>(schema: z.ZodType<T>, event: unknown): T => {
  const parsed = schema.safeParse(event)
  if (parsed.success) return parsed.data
  throw new LoopError('BadRequest', `The event is not valid: ${firstIssue(parsed.error)}.`)
}

/** A Catch that led to the time-out of Park leaves `$.error` beside the state: it is dropped here. */
const looseState = z.object(runState.shape)

export const parseState = (event: unknown): RunState => parseEvent(looseState, event)
