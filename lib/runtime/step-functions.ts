/** `Executions` on Step Functions. */
import {
  ExecutionAlreadyExists,
  ExecutionDoesNotExist,
  InvalidToken,
  SendTaskSuccessCommand,
  SFNClient,
  StartExecutionCommand,
  StopExecutionCommand,
  TaskDoesNotExist,
  TaskTimedOut,
} from '@aws-sdk/client-sfn'
import { LoopError } from '../loop/errors.ts'
import type { Executions } from '../loop/ports.ts'

const executionArn = (machine: string, name: string): string => `${machine.replace(':stateMachine:', ':execution:')}:${name}`

const orElse = async (call: Promise<unknown>, ...harmless: (new (...args: never[]) => Error)[]): Promise<void> => {
  try {
    await call
  } catch (cause) {
    if (harmless.some((kind) => cause instanceof kind)) return
    throw new LoopError('StoreUnavailable', 'Step Functions did not answer as expected.', { cause: (cause as Error).name }, { cause })
  }
}

/** `machine` is the ARN of the state machine. Errors: StoreUnavailable. */
export const stepFunctions = (machine: string, client: SFNClient = new SFNClient()): Executions => ({
  // The same name again, running or closed, is an execution that was started: an epoch has one.
  start: (name, input) =>
    orElse(
      client.send(new StartExecutionCommand({ stateMachineArn: machine, name, input: JSON.stringify(input) })),
      ExecutionAlreadyExists,
    ),
  stop: (name) =>
    orElse(
      client.send(new StopExecutionCommand({ executionArn: executionArn(machine, name), cause: 'A newer execution speaks for the run.' })),
      ExecutionDoesNotExist,
    ),
  wake: (token) =>
    orElse(client.send(new SendTaskSuccessCommand({ taskToken: token, output: '{}' })), TaskTimedOut, TaskDoesNotExist, InvalidToken),
})
