/**
 * The real agents, for the tests that drive them: what lib/agents/packages/ locks, whose versions and checksums are those of the image,
 * and, for the agent `acp`, one that speaks its protocol and is no part of the product.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { OPTIONAL_AGENTS } from '../../lib/names.ts'
import { cacheFolder, installOnce } from './package-cache.ts'

const SOURCE = fileURLToPath(new URL('../../lib/agents/packages', import.meta.url))
const QWEN = fileURLToPath(new URL('acp-agent/qwen', import.meta.url))

/** Files of tests that drive the real packages. */
export const AGENT_SUITES = 'test/integration/agent-{claude,codex,acp}*.test.ts'

/** The folder that REVIEWLOOP_AGENTS is to name. */
export const agentPackages = (): string => cacheFolder(SOURCE, 'agents')

/** Qwen Code, as it is started: past the wrapper, which would start a second process. */
export const qwenCommand = (): string[] => [process.execPath, join(cacheFolder(QWEN, 'qwen'), 'node_modules/@qwen-code/qwen-code/cli.js')]

/** vitest's global set-up. */
export default async (): Promise<void> => {
  await installOnce({
    source: SOURCE,
    folder: agentPackages(),
    says: `installing ${OPTIONAL_AGENTS.join(' and ')}: some 300 MB, once`,
    command: ['sh', 'install.sh', ...OPTIONAL_AGENTS],
  })
  await installOnce({
    source: QWEN,
    folder: cacheFolder(QWEN, 'qwen'),
    says: 'installing Qwen Code for the tests of the agent acp: some 120 MB, once',
    command: ['npm', 'ci', '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund'],
  })
}
