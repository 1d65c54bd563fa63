/** Every part of the deployment settings; docs/deploy.md says what each key holds. */
import type { TeamSettings } from '../lib/infra/settings.ts'

const secret = (name: string): string => `arn:aws:secretsmanager:eu-central-1:123456789012:secret:${name}`

export default {
  stage: 'dev',
  protect: false,
  repositories: [
    {
      url: 'https://github.com/octocat/hello-world.git',
      defaultBranch: 'main',
      forge: { kind: 'github', repositoryId: 1296269, ownerId: 583231 },
      triggers: {
        webhook: true,
        oidc: { events: ['push', 'pull_request'], workflows: ['octocat/hello-world/.github/workflows/review.yml'] },
      },
      schedule: { expression: 'cron(0 3 * * ? *)', timezone: 'Europe/Berlin', commits: 50 },
      publish: 'pull-request',
      agents: { reviewer: ['lint'], certifier: ['lint'] },
      budgets: { runs: 5, run: { tokens: 3_000_000, dollars: 10 }, day: { dollars: 50 } },
    },
    {
      url: 'https://gitlab.com/team/project.git',
      defaultBranch: 'trunk',
      forge: { kind: 'gitlab', projectId: 1234 },
      triggers: { oidc: { events: ['push', 'merge_request_event'] } },
      notify: { on: ['parked'] },
    },
    { url: 'https://git.example.org/team/library.git', triggers: { api: true } },
  ],
  agents: ['lint'],
  gitTokenSecret: secret('git-token-AbCdEf'),
  pushTokenSecret: secret('push-token-AbCdEf'),
  github: { appId: 4711, keySecret: secret('app-key-AbCdEf'), webhookSecret: secret('webhook-AbCdEf') },
  audience: 'reviewloop',
  budgets: { runs: 20, day: { tokens: 100_000_000, dollars: 200 } },
  notify: { emails: ['team@example.org'], on: ['parked', 'failed', 'budget', 'nightly'] },
  retention: { workDays: 90, recordDays: 400, logDays: 90 },
} satisfies TeamSettings
