/** What the deployed functions are told of the settings: `deployment.json`, whose schema is lib/loop/deployment.ts. */
import type { Settings } from './settings.ts'

/** `stage` and repositories; the rest at the schema's defaults. */
export const deploymentDocument = ({ stage, repositories, github }: Settings) => ({
  stage,
  ...(github ? { github: { appId: github.appId } } : {}),
  repositories: repositories.map(({ url, defaultBranch, schedule }) => ({
    url,
    defaultBranch,
    triggers: schedule ? { schedule: { branch: schedule.branch } } : {},
  })),
})
export type DeploymentDocument = ReturnType<typeof deploymentDocument>
