import { makeArtifacts } from '../../lib/runtime/bucket.ts'
import { makeCallers, noTokens } from '../../lib/runtime/caller.ts'
import { readDeployment } from '../../lib/runtime/deployment.ts'
import { makeEffects } from '../../lib/runtime/effects.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { makeExecutions } from '../../lib/runtime/machine.ts'
import { makeRuns } from '../../lib/runtime/tables.ts'
import { handler as answer } from './handler.ts'

export const handler = lambda(
  answer(
    { runs: makeRuns(), artifacts: makeArtifacts(), executions: makeExecutions(), effects: makeEffects() },
    makeCallers(readDeployment(), noTokens),
  ),
)
