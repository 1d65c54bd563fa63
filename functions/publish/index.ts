import { gitForge } from '../../lib/forge/git-forge.ts'
import { makeArtifacts } from '../../lib/runtime/bucket.ts'
import { makeEffects } from '../../lib/runtime/effects.ts'
import { readGitToken } from '../../lib/runtime/git-token.ts'
import { onCleanSlate } from '../../lib/runtime/clean-slate.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { makeRuns, makeSessions } from '../../lib/runtime/tables.ts'
import { gitWorkspaces } from '../../lib/workspace/workspaces.ts'
import { handler as publish } from './handler.ts'

export const handler = lambda(
  onCleanSlate(
    publish({
      runs: makeRuns(),
      sessions: makeSessions(),
      artifacts: makeArtifacts(),
      workspaces: gitWorkspaces({ token: async () => null }),
      forge: gitForge({ token: readGitToken }),
      teller: null,
      effects: makeEffects(),
    }),
  ),
)
