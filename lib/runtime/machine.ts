/** The state machine, as the environment names it. */
import type { Executions } from '../loop/ports.ts'
import { ENV } from '../names.ts'
import { requireEnv } from './environment.ts'
import { stepFunctions } from './step-functions.ts'

export const makeExecutions = (): Executions => stepFunctions(requireEnv(ENV.machine))
