/** What the deployment adds to a repository's own settings: agents where they name none, and bounds that they cannot go past. */
import { type Deployment, deployedAgents, repositoryOf } from './deployment.ts'
import type { Policy } from './policy.ts'

/** The policy as it holds in this deployment. */
export const deployedPolicy = (deployment: Deployment, url: string, policy: Policy): Policy => {
  const agent = { ...deployedAgents(deployment, url), ...policy.agent }
  const { tokens = Infinity, dollars = Infinity } = repositoryOf(deployment, url)?.budgets.run ?? {}
  const { limits } = policy
  return {
    ...policy,
    ...(Object.keys(agent).length ? { agent } : {}),
    limits: { ...limits, tokens: Math.min(limits.tokens, tokens), dollars: Math.min(limits.dollars, dollars) },
  }
}
