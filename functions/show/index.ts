import { makeCallers } from '../../lib/runtime/caller.ts'
import { readDeployment } from '../../lib/runtime/deployment.ts'
import { makeEffects } from '../../lib/runtime/effects.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { verifyTokens } from '../../lib/runtime/oidc.ts'
import { makeRuns } from '../../lib/runtime/tables.ts'
import { handler as show } from './handler.ts'

const deployment = readDeployment()

export const handler = lambda(
  show({ runs: makeRuns(), deployment, effects: makeEffects() }, makeCallers(deployment, verifyTokens(deployment))),
)
