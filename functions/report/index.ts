import { makeArtifacts } from '../../lib/runtime/bucket.ts'
import { makeCallers } from '../../lib/runtime/caller.ts'
import { readDeployment } from '../../lib/runtime/deployment.ts'
import { makeEffects } from '../../lib/runtime/effects.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { makeLinks } from '../../lib/runtime/links.ts'
import { verifyTokens } from '../../lib/runtime/oidc.ts'
import { makeRuns } from '../../lib/runtime/tables.ts'
import { handler as report } from './handler.ts'

const deployment = readDeployment()
const ports = { runs: makeRuns(), artifacts: makeArtifacts(), effects: makeEffects() }

export const handler = lambda(report(ports, makeCallers(deployment, verifyTokens(deployment)), makeLinks()))
