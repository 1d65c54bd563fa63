/** One DynamoDB Local for the whole run of the tests. */
import type { TestProject } from 'vitest/node'
import { installDynamodbLocal, startDynamodbLocal } from '../support/dynamodb-local.ts'
import { isInstalled } from '../support/needs.ts'

export default async (project: TestProject): Promise<(() => Promise<void>) | undefined> => {
  if (!isInstalled('java')) return undefined
  const { endpoint, close } = await startDynamodbLocal(await installDynamodbLocal())
  project.provide('dynamodbLocal', endpoint)
  return close
}
