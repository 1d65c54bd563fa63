/** Clock, unique values, log and metrics of a deployed function. */
import { randomUUID } from 'node:crypto'
import { Logger } from '@aws-lambda-powertools/logger'
import type { Effects } from '../loop/ports.ts'
import { redact, redactAll } from '../loop/redact.ts'
import { ENV } from '../names.ts'
import { requireEnv } from './environment.ts'
import { sayHappening } from './metrics.ts'

export const logger = new Logger({ serviceName: 'reviewloop' })

export const makeEffects = (): Effects => {
  requireEnv(ENV.metrics)
  return {
    now: () => Date.now(),
    nonce: () => randomUUID(),
    owner: null,
    log: (level, message, facts = {}) => logger[level](redact(message), redactAll(facts)),
    happened: sayHappening,
  }
}
