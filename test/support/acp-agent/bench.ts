/** The agent `acp` with the small agent behind it. */
import { fileURLToPath } from 'node:url'
import { type AcpOptions, createAcpAgent } from '../../../lib/agents/acp/agent.ts'
import { readAcpSettings } from '../../../lib/agents/acp/settings.ts'
import type { Agent } from '../../../lib/loop/agent.ts'
import type { SmallAgentOptions } from './options.ts'

const PROGRAM = fileURLToPath(new URL('agent.ts', import.meta.url))

const smallEnvironment = (options: SmallAgentOptions = {}): Record<string, string> => ({
  REVIEWLOOP_ACP_COMMAND: JSON.stringify([process.execPath, PROGRAM, JSON.stringify(options)]),
  REVIEWLOOP_ACP_STATE: 'small',
})

export const smallAgent = (
  options: SmallAgentOptions = {},
  { environment = {}, ...more }: AcpOptions & { environment?: Record<string, string> } = {},
): Promise<Agent> => createAcpAgent(readAcpSettings({ ...smallEnvironment(options), ...environment }), more)
