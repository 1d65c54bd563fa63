import { makeAnnounce } from '../../lib/runtime/announcer.ts'
import { makeArtifacts } from '../../lib/runtime/bucket.ts'
import { makeEffects } from '../../lib/runtime/effects.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { makeRuns } from '../../lib/runtime/tables.ts'
import { handler as decide } from './handler.ts'

const effects = makeEffects()

export const handler = lambda(decide({ runs: makeRuns(), artifacts: makeArtifacts(), effects, announce: makeAnnounce(effects) }))
