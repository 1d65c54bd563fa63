import { onCleanSlate } from '../../lib/runtime/clean-slate.ts'
import { lambda } from '../../lib/runtime/lambda.ts'
import { makeTurnPorts } from '../../lib/runtime/turn-ports.ts'
import { handler as certify } from './handler.ts'

export const handler = lambda(onCleanSlate(certify(makeTurnPorts())))
