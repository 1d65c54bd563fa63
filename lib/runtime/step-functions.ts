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
import type { Executions } from '../loop/ports.ts'
import { callStore } from '../stores/store-errors.ts'

const executionArn = (machine: string, name: string): string => `${machine.replace(':stateMachine:', ':execution:')}:${name}`

/** `harmless` answers say that there is nothing left to do. */
const orElse = (what: string, call: () => Promise<unknown>, ...harmless: (new (...args: never[]) => Error)[]): Promise<void> =>
  callStore(what, async () => {
    try {
      await call()
    } catch (cause) {
      if (!harmless.some((kind) => cause instanceof kind)) throw cause
    }
  })

/** `machine` is the ARN of the state machine. Errors: StoreUnavailable; Unexpected where Step Functions refuses. */
export const stepFunctions = (machine: string, client: SFNClient = new SFNClient()): Executions => ({
  // The same name again, running or closed, is an execution that was started: an epoch has one.
  start: (name, input) =>
    orElse(
      `Starting ${name}`,
      () => client.send(new StartExecutionCommand({ stateMachineArn: machine, name, input: JSON.stringify(input) })),
      ExecutionAlreadyExists,
    ),
  stop: (name) =>
    orElse(
      `Stopping ${name}`,
      () =>
        client.send(
          new StopExecutionCommand({ executionArn: executionArn(machine, name), cause: 'A newer execution speaks for the run.' }),
        ),
      ExecutionDoesNotExist,
    ),
  wake: (token) =>
    orElse(
      'Waking a parked execution',
      () => client.send(new SendTaskSuccessCommand({ taskToken: token, output: '{}' })),
      TaskTimedOut,
      TaskDoesNotExist,
      InvalidToken,
    ),
})
