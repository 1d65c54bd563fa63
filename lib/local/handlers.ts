/** The very handlers of the Lambdas, by the state they serve. */
import { handler as certify } from '../../functions/certify/handler.ts'
import { handler as close } from '../../functions/close/handler.ts'
import { handler as decide } from '../../functions/decide/handler.ts'
import { handler as fix } from '../../functions/fix/handler.ts'
import { handler as park } from '../../functions/park/handler.ts'
import { handler as prepare } from '../../functions/prepare/handler.ts'
import { handler as publish } from '../../functions/publish/handler.ts'
import { handler as recordFailure } from '../../functions/record-failure/handler.ts'
import { handler as review } from '../../functions/review/handler.ts'
import type { Ports } from '../loop/ports.ts'
import type { TaskState } from '../names.ts'
import type { Handler } from './execution.ts'

/** All handlers over one set of ports. Together they have every right that in AWS each role has a part of. */
export const handlersOf = (ports: Ports): Record<TaskState, Handler> => ({
  Prepare: prepare(ports),
  Review: review(ports),
  Fix: fix(ports),
  Certify: certify(ports),
  Park: park(ports),
  Decide: decide(ports),
  Publish: publish(ports),
  RecordFailure: recordFailure(ports),
  Close: close(ports),
})
