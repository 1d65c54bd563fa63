/** `npm run test:dynamodb-local`: what opens tables, on DynamoDB Local. */
import { defineConfig } from 'vitest/config'
import { isInstalled } from '../support/needs.ts'
import config from '../vitest.config.ts'
import { suitesOnTables } from './suites.ts'

export default defineConfig({
  ...config,
  test: {
    ...config.test,
    // Without java there is nothing to run the suites on: the tests of this folder say so, each by its name.
    include: ['test/dynamodb-local/*.test.ts', ...(isInstalled('java') ? suitesOnTables() : [])],
    exclude: ['**/node_modules/**'],
    globalSetup: ['test/dynamodb-local/setup.ts'],
  },
})
