/** What the functions of the image have around them in AWS, on loopback: tables, a bucket, and runs that are ready for their first turn. */
import { randomUUID } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import dynalite from 'dynalite'
import { vi } from 'vitest'
import { settings } from '../../lib/loop/policy.ts'
import type { RunState } from '../../lib/loop/run.ts'
import type { RunRecord } from '../../lib/loop/record.ts'
import { loadRecord } from '../../lib/loop/run-record.ts'
import { ENV } from '../../lib/names.ts'
import { dynamoClient } from '../../lib/stores/dynamodb/client.ts'
import { dynamoRuns } from '../../lib/stores/dynamodb/runs.ts'
import { createTables } from '../../lib/stores/dynamodb/schema.ts'
import { dynamoSessions } from '../../lib/stores/dynamodb/sessions.ts'
import { s3Artifacts } from '../../lib/stores/s3/artifacts.ts'
import { gitWorkspaces } from '../../lib/workspace/workspaces.ts'
import { takeStep } from './drive.ts'
import { startS3 } from './fake-s3.ts'
import type { TestRepository } from './git-repository.ts'
import { makePorts } from './ports.ts'
import { aRun } from './runs.ts'

export interface ImageWorld extends AsyncDisposable {
  /** For the functions: where everything is. */
  environment: Record<string, string>
  /** A run of the change, as Prepare leaves it. */
  prepared(repository: TestRepository, source: { base: string; head: string }, agent: string): Promise<RunState>
  record(state: RunState): Promise<RunRecord>
}

const NAMES = { sessions: 'Sessions', runs: 'Runs' }
const KEYS = { AWS_REGION: 'us-east-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' }

export const imageWorld = async (): Promise<ImageWorld> => {
  for (const [name, value] of Object.entries(KEYS)) vi.stubEnv(name, value)
  const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const tables = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const client = dynamoClient({ region: 'us-east-1', endpoint: tables })
  await createTables(client, NAMES)
  const s3 = await startS3()
  const endpoint = await s3.client.config.endpoint?.()
  const ports = makePorts({
    sessions: dynamoSessions({ client, table: NAMES.sessions }),
    runs: dynamoRuns({ client, table: NAMES.runs }),
    artifacts: s3Artifacts({ client: s3.client, bucket: s3.bucket }),
    workspaces: gitWorkspaces({ token: async () => null }),
    effects: { now: Date.now, nonce: randomUUID, owner: null, log: () => undefined, happened: () => undefined },
  })
  return {
    environment: {
      PATH: '/usr/bin:/bin',
      AWS_ENDPOINT_URL_DYNAMODB: tables,
      AWS_ENDPOINT_URL_S3: `http://${endpoint?.hostname}:${endpoint?.port}`,
      [ENV.sessionsTable]: NAMES.sessions,
      [ENV.runsTable]: NAMES.runs,
      [ENV.bucket]: s3.bucket,
      [ENV.metrics]: 'reviewloop/test',
    },
    prepared: async (repository, source, agent) => {
      const { state } = await aRun(ports, {
        repository: repository.path,
        branch: 'change',
        ...source,
        overrides: settings.parse({ agent }),
      })
      return takeStep(ports, state)
    },
    record: (state) => loadRecord(ports, state),
    [Symbol.asyncDispose]: async () => {
      client.destroy()
      await s3.close()
      await new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      })
      vi.unstubAllEnvs()
    },
  }
}
