/** The two tables, as the environment names them. */
import type { RunStore, SessionStore } from '../loop/ports.ts'
import { ENV } from '../names.ts'
import { dynamoClient } from '../stores/dynamodb/client.ts'
import { dynamoRuns } from '../stores/dynamodb/runs.ts'
import { dynamoSessions } from '../stores/dynamodb/sessions.ts'
import { requireEnv } from './environment.ts'

export const makeSessions = (): SessionStore => dynamoSessions({ client: dynamoClient(), table: requireEnv(ENV.sessionsTable) })

export const makeRuns = (): RunStore => dynamoRuns({ client: dynamoClient(), table: requireEnv(ENV.runsTable) })
