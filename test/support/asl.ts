/** The state machine as it stands in the template, as plain Amazon States Language. */
import { placeholderArn, TASK_STATES } from '../../lib/names.ts'
import type { Asl } from '../../lib/infra/loop-definition.ts'
import { functionId, only, plain, type Template } from './template.ts'

/** Resolves the template's intrinsics; the ARN of a state's function becomes its placeholder. */
export const synthesizedAsl = (template: Template): Asl => {
  const [, machine] = only(template, 'AWS::StepFunctions::StateMachine')
  const text = plain(machine.Properties['DefinitionString'], (id, name) => {
    const state = TASK_STATES.find((candidate) => functionId(candidate) === id)
    if (!state || name !== 'Arn') throw new Error(`the machine refers to ${id}.${name}, which is no function of a state`)
    return placeholderArn(state)
  })
  return JSON.parse(text) as Asl
}

/** Every state that a state may go on to. */
export const targetsOf = (state: Asl['States'][string]): string[] => [
  ...(state.Next ? [state.Next] : []),
  ...(state.Default ? [state.Default] : []),
  ...(state.Choices ?? []).map((choice) => choice.Next),
  ...(state.Catch ?? []).map((entry) => entry.Next),
]

/** States that can be reached from the start. */
export const reachable = (asl: Asl): Set<string> => {
  const seen = new Set([asl.StartAt])
  for (const name of seen) for (const next of targetsOf(asl.States[name] ?? { Type: 'Fail' })) seen.add(next)
  return seen
}
