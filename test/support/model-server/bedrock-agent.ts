/** The agent `bedrock` with its real client, against a model server of a test's own. */
import { afterAll, beforeAll, beforeEach, vi } from 'vitest'
import { createBedrockAgent, type BedrockOptions } from '../../../lib/agents/bedrock/agent.ts'
import { readBedrockSettings } from '../../../lib/agents/bedrock/settings.ts'
import type { Agent } from '../../../lib/loop/agent.ts'
import { startModelServer, type ModelServer } from './bedrock.ts'
import { plainModel } from './plain-model.ts'

export interface ModelBench {
  server: ModelServer
  /** `settings` as they stand in the environment. One try a call: what a test sees failing must not be tried again. */
  agent(settings?: Record<string, string>, options?: BedrockOptions): Agent
}

/** To be called once, at the top of a test file. Before each test the server is as new. */
export const modelBench = (): ModelBench => {
  let server: ModelServer | null = null
  const there = (): ModelServer => {
    if (!server) throw new Error('The server is there only while a test runs.')
    return server
  }
  beforeAll(async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'local')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'local')
    vi.stubEnv('AWS_REGION', 'us-east-1')
    server = await startModelServer(plainModel())
  })
  beforeEach(() => {
    there().requests.length = 0
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
    agent: (settings = {}, options = {}) =>
      createBedrockAgent(readBedrockSettings({ REVIEWLOOP_BEDROCK_MODEL: 'test.model-v1:0', ...settings }), {
        endpoint: there().url,
        attempts: 1,
        ...options,
      }),
  }
}
