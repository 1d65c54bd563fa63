/** A whole run over a real repository: real git, the lint agent, the forge; stores in memory, and no engine. */
import { randomUUID } from 'node:crypto'
import { createAgents } from '../../lib/agents/registry.ts'
import { gitForge } from '../../lib/forge/git-forge.ts'
import type { Effects } from '../../lib/loop/ports.ts'
import type { RunRequest, RunState } from '../../lib/loop/run.ts'
import { loadRecord } from '../../lib/loop/run-record.ts'
import type { RunRecord } from '../../lib/loop/record.ts'
import type { Step } from '../../lib/names.ts'
import { gitWorkspaces } from '../../lib/workspace/workspaces.ts'
import { driveUntil } from './drive.ts'
import type { TestRepository } from './git-repository.ts'
import { makePorts } from './ports.ts'
import { aRun } from './runs.ts'

const token = async (): Promise<null> => null
const realEffects = (): Effects => ({ now: Date.now, nonce: randomUUID, owner: null, log: () => undefined, happened: () => undefined })

/** Ports with real git and the real clock; the agent is the fake one unless the test brings its own. */
export const gitPorts = () => makePorts({ workspaces: gitWorkspaces({ token }), forge: gitForge({ token }), effects: realEffects() })

export const lintPorts = () => ({ ...gitPorts(), agents: createAgents(), defaultAgents: ['lint'] })

export interface LintRun {
  state: RunState
  steps: Step[]
  record: RunRecord
  /** Of the branch that the fixes were put on; null where there is none. */
  fixes: string | null
  ports: ReturnType<typeof lintPorts>
}

/** Drives a run to its end, or to where it asks. */
export const lintRun = async (
  repository: TestRepository,
  source: { base: string; head: string; branch?: string | null },
  request: Partial<RunRequest> = {},
): Promise<LintRun> => {
  const ports = lintPorts()
  const { run, state: start } = await aRun(ports, { repository: repository.path, branch: 'change', ...source, ...request })
  const { state, steps } = await driveUntil(ports, start, 'Done', 'Failed', 'Park')
  const record = await loadRecord(ports, state)
  const fixes = await repository.id(`refs/heads/reviewloop/${run.runId}`).catch(() => null)
  return { state, steps, record, fixes, ports }
}
