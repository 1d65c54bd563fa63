import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { AGENT_SUITES, agentPackages } from './support/agent-packages.ts'
import { isInstalled } from './support/needs.ts'
import { DYNAMODB_LOCAL, suitesOnTables } from './support/table-suites.ts'

const everything = { include: ['test/**/*.test.ts'], exclude: ['**/node_modules/**', DYNAMODB_LOCAL, AGENT_SUITES] }

/** What drives agents that come as a command-line tool, with the real ones. */
const onAgents = () => ({
  include: [AGENT_SUITES],
  globalSetup: ['test/support/agent-packages.ts'],
  testTimeout: 300_000,
  hookTimeout: 300_000,
})

/** Without java there is nothing to run the suites on: the tests of the one file that is left say so, each by its name. */
const onDynamodbLocal = () => ({
  include: [DYNAMODB_LOCAL, ...(isInstalled('java') ? suitesOnTables() : [])],
  globalSetup: ['test/support/dynamodb-local.ts'],
})

/** What takes more seeds and inputs where it is given the time: hours, on two cores. */
const long = {
  include: ['test/property/**/*.test.ts', 'test/faults/**/*.test.ts', 'test/integration/hostile*.test.ts'],
  testTimeout: 6 * 3_600_000,
}

/**
 * `--mode dynamodb-local` runs what opens tables once more, on DynamoDB Local; `--mode agents` the agents that are command-line tools;
 * `--mode long` what can take large numbers.
 */
export default defineConfig(({ mode }) => ({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    testTimeout: 60_000,
    hookTimeout: 60_000,
    ...(mode === 'dynamodb-local' ? onDynamodbLocal() : mode === 'agents' ? onAgents() : mode === 'long' ? long : everything),
    env: {
      ...(mode === 'agents' ? { REVIEWLOOP_AGENTS: agentPackages() } : {}),
      ...(mode === 'long' ? { REVIEWLOOP_LONG: '1' } : {}),
      CDK_VALIDATION: 'false',
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: 'local',
      AWS_SECRET_ACCESS_KEY: 'local',
    },
  },
}))
