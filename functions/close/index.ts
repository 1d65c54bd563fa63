import { makeAnnounce } from '../../lib/runtime/announcer.ts'
import { makeArtifacts } from '../../lib/runtime/bucket.ts'
import { readDeployment } from '../../lib/runtime/deployment.ts'
import { makeEffects } from '../../lib/runtime/effects.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { makeNotify } from '../../lib/runtime/notifier.ts'
import { makeRuns, makeSessions } from '../../lib/runtime/tables.ts'
import { handler as close } from './handler.ts'

const effects = makeEffects()

export const handler = lambda(
  close({
    runs: makeRuns(),
    sessions: makeSessions(),
    artifacts: makeArtifacts(),
    effects,
    announce: makeAnnounce(effects),
    notify: makeNotify(effects, readDeployment()),
    deployment: readDeployment(),
  }),
)
