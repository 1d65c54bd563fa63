/** What the deployed functions are told of the settings: `deployment.json`, whose schema is lib/loop/deployment.ts. */
import { TURN_ROLES, type TurnRole } from '../names.ts'
import type { Settings } from './settings.ts'

const byRole = (agents: Settings['agents'] | undefined): Partial<Record<TurnRole, string[]>> =>
  Array.isArray(agents)
    ? Object.fromEntries(TURN_ROLES.map((role) => [role, agents]))
    : Object.fromEntries(Object.entries(agents ?? {}).filter(([, order]) => order !== undefined))

/** The branch that is reviewed by the clock, and how much of it in a night. */
const scheduleOf = ({ schedule, defaultBranch }: Settings['repositories'][number]) => {
  if (!schedule) return undefined
  const { branch, commits, files, bytes } = schedule
  return { branch: branch ?? defaultBranch, commits, files, bytes }
}

/** Without the keys that have no value; secrets stay names in the environment of the functions that may read them. */
export const deploymentDocument = ({ stage, repositories, agents, budgets, audience, github, notify }: Settings) => ({
  stage,
  repositories: repositories.map((repository) => {
    const { url, defaultBranch, forge, triggers, publish, budgets: own } = repository
    const app = github !== undefined && forge.kind === 'github'
    const schedule = scheduleOf(repository)
    return {
      url,
      defaultBranch,
      forge,
      triggers: {
        api: triggers.api,
        webhook: triggers.webhook ?? (app && github.webhookSecret !== undefined),
        ...(triggers.oidc && { oidc: triggers.oidc }),
        ...(schedule && { schedule }),
      },
      publish: publish ?? (app ? 'pull-request' : 'branch'),
      agents: byRole(repository.agents),
      budgets: own,
      ...(repository.notify && { notify: repository.notify }),
    }
  }),
  agents: byRole(agents),
  budgets,
  audience,
  notify: { on: notify.on },
  ...(github && { github: { appId: github.appId } }),
})
export type DeploymentDocument = Pick<ReturnType<typeof deploymentDocument>, 'stage' | 'repositories'>
