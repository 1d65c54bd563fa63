import { deployedForges } from '../../lib/forge/deployed.ts'
import { makeArtifacts } from '../../lib/runtime/bucket.ts'
import { onCleanSlate } from '../../lib/runtime/clean-slate.ts'
import { readDeployment } from '../../lib/runtime/deployment.ts'
import { makeEffects } from '../../lib/runtime/effects.ts'
import { readGithubKey, readPushToken } from '../../lib/runtime/git-token.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { makeRuns, makeSessions } from '../../lib/runtime/tables.ts'
import { gitWorkspaces } from '../../lib/workspace/workspaces.ts'
import { handler as publish } from './handler.ts'

const deployment = readDeployment()
const secrets = { gitToken: () => readPushToken(), githubKey: () => readGithubKey() }

export const handler = lambda(
  onCleanSlate(
    publish({
      runs: makeRuns(),
      sessions: makeSessions(),
      artifacts: makeArtifacts(),
      workspaces: gitWorkspaces({ token: async () => null }),
      ...deployedForges(deployment, secrets),
      deployment,
      effects: makeEffects(),
    }),
  ),
)
