/** What a turn's function has: stores, a workspace without a credential, and agents. */
import { createAgents } from '../agents/registry.ts'
import { DEFAULT_AGENTS } from '../loop/deployment.ts'
import type { TurnPorts } from '../loop/review.ts'
import { gitWorkspaces } from '../workspace/workspaces.ts'
import { makeArtifacts } from './bucket.ts'
import { makeEffects } from './effects.ts'
import { makeRuns, makeSessions } from './tables.ts'

export const makeTurnPorts = (): TurnPorts => ({
  sessions: makeSessions(),
  runs: makeRuns(),
  artifacts: makeArtifacts(),
  workspaces: gitWorkspaces({ token: async () => null }),
  agents: createAgents(),
  effects: makeEffects(),
  defaultAgents: DEFAULT_AGENTS,
})
