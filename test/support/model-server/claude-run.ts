/** Whole runs whose roles are the agent `claude` behind its real SDK and tool. */
import { agentRun, type AgentRun, type AgentRunOptions } from './agent-run.ts'
import type { ModelRequest } from './bedrock.ts'
import type { ClaudeBench } from './claude-agent.ts'

/** Drives to an end, or to where a person is asked. The provider's cache goes by the run's clock. */
export const claudeRun = (bench: ClaudeBench, options: AgentRunOptions): Promise<AgentRun<ModelRequest>> =>
  agentRun(bench, options, { name: 'claude', clock: (now) => (bench.server.cache.now = now) })
