/** The state machine as the interpreter takes it: the synthesized definition, within what it can do. */
import { StateMachine, type StateMachineDefinition } from 'aws-local-stepfunctions'
import definition from './loop-machine.asl.json' with { type: 'json' }

/** Timers of Node fire at once past this many seconds (24.8 days). */
const MAX_SECONDS = Math.floor((2 ** 31 - 1) / 1000)

export interface MachineState {
  Type: string
  TimeoutSeconds?: number
  TimeoutSecondsPath?: string
  Parameters?: unknown
}

/** The definition that AWS runs, as it was synthesized. */
export const LOOP_MACHINE = definition as unknown as StateMachineDefinition

export const statesOf = (machine: StateMachineDefinition): Record<string, MachineState> => machine.States

/** The interpreter for a definition. The definition is held valid where it is made, so it is not validated at every start. */
export const interpreter = (machine: StateMachineDefinition): StateMachine => {
  // AWS applies the path to the state's input, the interpreter to what Parameters made of it
  const timeoutPath = (state: MachineState): MachineState =>
    state.TimeoutSecondsPath && state.Parameters
      ? { ...state, TimeoutSecondsPath: state.TimeoutSecondsPath.replace('$', '$.Payload.state') }
      : state
  const clamp = <T extends { TimeoutSeconds?: number }>(part: T): T =>
    part.TimeoutSeconds === undefined ? part : { ...part, TimeoutSeconds: Math.min(part.TimeoutSeconds, MAX_SECONDS) }
  const States = Object.fromEntries(
    Object.entries(machine.States).map(([name, state]) => [name, clamp(timeoutPath(state as MachineState))]),
  )
  return new StateMachine({ ...clamp(machine), States } as StateMachineDefinition, { validationOptions: { noValidate: true } })
}
