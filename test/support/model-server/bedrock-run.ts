/** Whole runs whose roles are the agent `bedrock` behind its real client. */
import { agentRun, type AgentRun, type AgentRunOptions } from './agent-run.ts'
import type { ModelRequest } from './bedrock.ts'
import type { ModelBench } from './bedrock-agent.ts'

/** Drives to an end, or to where a person is asked. The provider's cache goes by the run's clock. */
export const bedrockRun = (bench: ModelBench, options: AgentRunOptions): Promise<AgentRun<ModelRequest>> =>
  agentRun(bench, options, { name: 'bedrock', clock: (now) => (bench.server.cache.now = now) })
