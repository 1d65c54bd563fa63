import { makeCallers, noTokens } from '../../lib/runtime/caller.ts'
import { readDeployment } from '../../lib/runtime/deployment.ts'
import { makeEffects } from '../../lib/runtime/effects.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { makeUploads } from '../../lib/runtime/links.ts'
import { handler as upload } from './handler.ts'

const deployment = readDeployment()

export const handler = lambda(upload({ deployment, effects: makeEffects() }, makeCallers(deployment, noTokens), makeUploads()))
