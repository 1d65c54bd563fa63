/** The agent `codex` with its real SDK and command-line tool, against a model server of a test's own. */
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { createCodexAgent, type CodexOptions } from '../../../lib/agents/codex/agent.ts'
import type { CodexSdk } from '../../../lib/agents/codex/sdk.ts'
import { readCodexSettings } from '../../../lib/agents/codex/settings.ts'
import { findPackage, loadPackage } from '../../../lib/agents/optional-package.ts'
import type { Agent } from '../../../lib/loop/agent.ts'
import { startModelServer, type ModelServer } from './openai.ts'
import { plainModel } from './openai-plain-model.ts'

export const KEY = 'the-key-of-the-provider'

export interface CodexBench {
  server: ModelServer
  sdk: CodexSdk
  /** `settings` as they stand in the environment. One try a call: what a test sees failing must not be tried again. */
  agent(settings?: Record<string, string>, options?: Partial<CodexOptions>): Agent
}

/** To be called once, at the top of a test file. Before each test the server is as new. */
export const codexBench = (): CodexBench => {
  let server: ModelServer | null = null
  let parts: Pick<CodexOptions, 'sdk' | 'version'> | null = null
  const there = (): ModelServer => {
    if (!server) throw new Error('The server is there only while a test runs.')
    return server
  }
  const loaded = (): Pick<CodexOptions, 'sdk' | 'version'> => {
    if (!parts) throw new Error('The SDK is there only while a test runs.')
    return parts
  }
  beforeAll(async () => {
    const { version } = await findPackage('codex', '@openai/codex-sdk')
    parts = { sdk: await loadPackage<CodexSdk>('codex', '@openai/codex-sdk'), version }
    server = await startModelServer(plainModel())
  })
  beforeEach(() => {
    there().requests.length = 0
    there().strays.length = 0
    there().script.length = 0
    there().model = plainModel()
  })
  afterAll(() => server?.[Symbol.asyncDispose]())
  return {
    get server() {
      return there()
    },
    get sdk() {
      return loaded().sdk
    },
    agent: (settings = {}, options = {}) =>
      createCodexAgent(readCodexSettings({ REVIEWLOOP_CODEX_MODEL: 'test-model', REVIEWLOOP_CODEX_BASE_URL: there().url, ...settings }), {
        ...loaded(),
        key: async () => KEY,
        attempts: 1,
        ...options,
      }),
  }
}
