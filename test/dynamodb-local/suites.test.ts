import { expect } from 'vitest'
import { testWith } from '../support/needs.ts'
import { startTables } from '../support/tables.ts'
import { suitesOnTables } from './suites.ts'

testWith('java')('the suites that open tables have them on DynamoDB Local, each its own', async () => {
  expect(suitesOnTables().length).toBeGreaterThan(5)
  const [tables, others] = [await startTables(), await startTables()]
  try {
    expect(await tables.client.config.endpoint?.()).toMatchObject({ hostname: '127.0.0.1' })
    expect(tables.names).not.toEqual(others.names)
  } finally {
    await tables.close()
    await others.close()
  }
})
