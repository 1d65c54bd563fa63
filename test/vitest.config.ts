import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

export default defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    // Has a configuration of its own.
    exclude: ['**/node_modules/**', 'test/dynamodb-local/**'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    env: { CDK_VALIDATION: 'false', AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' },
  },
})
