/** Clock, unique values and the log of a deployed function. */
import { randomUUID } from 'node:crypto'
import { Logger } from '@aws-lambda-powertools/logger'
import type { Effects } from '../loop/ports.ts'
import { redact, redactAll } from '../loop/redact.ts'

export const logger = new Logger({ serviceName: 'reviewloop' })

export const makeEffects = (): Effects => ({
  now: () => Date.now(),
  nonce: () => randomUUID(),
  owner: null,
  log: (level, message, facts = {}) => logger[level](redact(message), redactAll(facts)),
})
