import { makeEffects } from '../../lib/runtime/effects.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { makeRuns } from '../../lib/runtime/tables.ts'
import { handler as watch } from './handler.ts'

export const handler = lambda(watch({ runs: makeRuns(), effects: makeEffects() }))
