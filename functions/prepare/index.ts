import { makeAnnounce } from '../../lib/runtime/announcer.ts'
import { makeArtifacts } from '../../lib/runtime/bucket.ts'
import { readDeployment } from '../../lib/runtime/deployment.ts'
import { makeEffects } from '../../lib/runtime/effects.ts'
import { readGitToken } from '../../lib/runtime/git-token.ts'
import { onCleanSlate } from '../../lib/runtime/clean-slate.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { makeRuns } from '../../lib/runtime/tables.ts'
import { gitWorkspaces } from '../../lib/workspace/workspaces.ts'
import { handler as prepare } from './handler.ts'

const effects = makeEffects()

export const handler = lambda(
  onCleanSlate(
    prepare({
      runs: makeRuns(),
      artifacts: makeArtifacts(),
      workspaces: gitWorkspaces({ token: readGitToken }),
      effects,
      announce: makeAnnounce(effects),
      deployment: readDeployment(),
    }),
  ),
)
