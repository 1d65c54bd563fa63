import { githubPulls } from '../../lib/forge/github-pulls.ts'
import { remoteHeads } from '../../lib/forge/remote-refs.ts'
import { DEFAULT_AGENTS } from '../../lib/loop/deployment.ts'
import { makeArtifacts } from '../../lib/runtime/bucket.ts'
import { makeAnnounce } from '../../lib/runtime/announcer.ts'
import { readDeployment } from '../../lib/runtime/deployment.ts'
import { makeEffects } from '../../lib/runtime/effects.ts'
import { readGitToken } from '../../lib/runtime/git-token.ts'
import { hookSecrets } from '../../lib/runtime/hook-signature.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { makeExecutions } from '../../lib/runtime/machine.ts'
import { makeNotify } from '../../lib/runtime/notifier.ts'
import { makeRuns, makeSessions } from '../../lib/runtime/tables.ts'
import { handler as webhook } from './handler.ts'

const deployment = readDeployment()
const effects = makeEffects()

export const handler = lambda(
  webhook(
    {
      runs: makeRuns(),
      sessions: makeSessions(),
      artifacts: makeArtifacts(),
      forge: remoteHeads(readGitToken),
      pulls: githubPulls(readGitToken),
      executions: makeExecutions(),
      effects,
      announce: makeAnnounce(effects),
      notify: makeNotify(effects, deployment),
      defaultAgents: DEFAULT_AGENTS,
      deployment,
    },
    hookSecrets(),
  ),
)
