import { remoteHeads } from '../../lib/forge/remote-refs.ts'
import { makeAnnounce } from '../../lib/runtime/announcer.ts'
import { DEFAULT_AGENTS } from '../../lib/loop/deployment.ts'
import { makeCallers } from '../../lib/runtime/caller.ts'
import { readDeployment } from '../../lib/runtime/deployment.ts'
import { makeEffects } from '../../lib/runtime/effects.ts'
import { readGitToken } from '../../lib/runtime/git-token.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { makeExecutions } from '../../lib/runtime/machine.ts'
import { makeNotify } from '../../lib/runtime/notifier.ts'
import { verifyTokens } from '../../lib/runtime/oidc.ts'
import { makeRuns, makeSessions } from '../../lib/runtime/tables.ts'
import { handler as start } from './handler.ts'

const deployment = readDeployment()
const effects = makeEffects()

export const handler = lambda(
  start(
    {
      runs: makeRuns(),
      sessions: makeSessions(),
      forge: remoteHeads(readGitToken),
      executions: makeExecutions(),
      effects,
      announce: makeAnnounce(effects),
      notify: makeNotify(effects, deployment),
      defaultAgents: DEFAULT_AGENTS,
      deployment,
    },
    makeCallers(deployment, verifyTokens(deployment)),
  ),
)
