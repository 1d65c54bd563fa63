import { makeAnnounce } from '../../lib/runtime/announcer.ts'
import { makeEffects } from '../../lib/runtime/effects.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { makeExecutions } from '../../lib/runtime/machine.ts'
import { makeRuns, makeSessions } from '../../lib/runtime/tables.ts'
import { handler as recordFailure } from './handler.ts'

const effects = makeEffects()

export const handler = lambda(
  recordFailure({ runs: makeRuns(), sessions: makeSessions(), executions: makeExecutions(), effects, announce: makeAnnounce(effects) }),
)
