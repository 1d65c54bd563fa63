import { lambda } from '../../lib/runtime/lambda.ts'
import { makeRuns } from '../../lib/runtime/tables.ts'
import { handler as show } from './handler.ts'

export const handler = lambda(show({ runs: makeRuns() }))
