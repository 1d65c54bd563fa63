/** The deployment's facts, which lie beside the function's code. */
import { readFileSync } from 'node:fs'
import { type Deployment, deployment } from '../loop/deployment.ts'
import { firstIssue } from '../loop/issue.ts'

/** Throws an Error that names the file where it is missing or is not what it should be: the function then does nothing at all. */
export const readDeployment = (file: URL = new URL('deployment.json', import.meta.url)): Deployment => {
  const parsed = deployment.safeParse(JSON.parse(readFileSync(file, 'utf8')))
  if (parsed.success) return parsed.data
  throw new Error(`deployment.json does not fit this version: ${firstIssue(parsed.error)}`)
}
