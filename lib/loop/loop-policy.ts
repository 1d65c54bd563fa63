/** The part of the policy that travels with the run's state. */
import { type Policy, policy, type Settings } from './policy.ts'
import type { LoopPolicy } from './run.ts'

export const loopPolicyOf = (resolved: Policy): LoopPolicy => ({
  rounds: resolved.rounds,
  certify: resolved.certify,
  ask: resolved.ask,
  continuations: resolved.limits.continuations,
  askSeconds: resolved.ask_hours * 3600,
})

/** What a run goes by until Prepare has read the settings: the request over the defaults. */
export const firstPolicy = ({ agent: _agent, ...overrides }: Settings): LoopPolicy => loopPolicyOf(policy.parse(overrides))
