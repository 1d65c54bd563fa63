import { makeCallers, noTokens } from '../../lib/runtime/caller.ts'
import { readDeployment } from '../../lib/runtime/deployment.ts'
import { makeEffects } from '../../lib/runtime/effects.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { makeExecutions } from '../../lib/runtime/machine.ts'
import { makeRuns, makeSessions } from '../../lib/runtime/tables.ts'
import { handler as abort } from './handler.ts'

export const handler = lambda(
  abort(
    { runs: makeRuns(), sessions: makeSessions(), executions: makeExecutions(), effects: makeEffects() },
    makeCallers(readDeployment(), noTokens),
  ),
)
