import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { isInstalled } from './support/needs.ts'
import { DYNAMODB_LOCAL, suitesOnTables } from './support/table-suites.ts'

const everything = { include: ['test/**/*.test.ts'], exclude: ['**/node_modules/**', DYNAMODB_LOCAL] }

/** Without java there is nothing to run the suites on: the tests of the one file that is left say so, each by its name. */
const onDynamodbLocal = () => ({
  include: [DYNAMODB_LOCAL, ...(isInstalled('java') ? suitesOnTables() : [])],
  globalSetup: ['test/support/dynamodb-local.ts'],
})

/** `--mode dynamodb-local` runs what opens tables once more, on DynamoDB Local. */
export default defineConfig(({ mode }) => ({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    ...(mode === 'dynamodb-local' ? onDynamodbLocal() : everything),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    env: { CDK_VALIDATION: 'false', AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' },
  },
}))
