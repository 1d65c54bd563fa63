/** The agent `claude` with its real SDK and command-line tool, against a model server of a test's own. */
import { afterAll, beforeAll, beforeEach, vi } from 'vitest'
import { type ClaudeOptions, createClaudeAgent } from '../../../lib/agents/claude/agent.ts'
import { type ClaudeSdk, loadClaudeSdk } from '../../../lib/agents/claude/sdk.ts'
import { readClaudeSettings } from '../../../lib/agents/claude/settings.ts'
import type { Agent } from '../../../lib/loop/agent.ts'
import { type AnthropicServer, startAnthropicServer } from './anthropic.ts'
import { plainModel } from './plain-model.ts'

export interface ClaudeBench {
  server: AnthropicServer
  /** `settings` as they stand in the environment. One try a call: what a test sees failing must not be tried again. */
  agent(settings?: Record<string, string>, options?: Partial<ClaudeOptions>, sdk?: ClaudeSdk): Agent
}

/** To be called once, at the top of a test file. Before each test the server is as new. */
export const claudeBench = (): ClaudeBench => {
  let server: AnthropicServer | null = null
  let sdk: ClaudeSdk | null = null
  const there = (): AnthropicServer => {
    if (!server) throw new Error('The server is there only while a test runs.')
    return server
  }
  beforeAll(async () => {
    server = await startAnthropicServer(plainModel())
    sdk = await loadClaudeSdk()
    vi.stubEnv('ANTHROPIC_API_KEY', 'local-key')
    vi.stubEnv('ANTHROPIC_BASE_URL', server.url)
    vi.stubEnv('ANTHROPIC_BEDROCK_BASE_URL', server.url)
  })
  beforeEach(() => {
    there().requests.length = 0
    there().asked.length = 0
    there().script.length = 0
    there().model = plainModel()
    there().cache.clear()
  })
  afterAll(async () => {
    vi.unstubAllEnvs()
    await server?.[Symbol.asyncDispose]()
  })
  return {
    get server() {
      return there()
    },
    agent: (settings = {}, options = {}, other) => {
      const used = other ?? sdk
      if (!used) throw new Error('The SDK is there only while a test runs.')
      const read = readClaudeSettings({ REVIEWLOOP_CLAUDE_MODEL: 'claude-test', ...settings })
      return createClaudeAgent(read, used, { key: async () => process.env['ANTHROPIC_API_KEY'] ?? '', retries: 0, ...options })
    },
  }
}
