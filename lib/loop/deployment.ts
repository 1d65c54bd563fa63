/**
 * What the functions of a deployment must know of it: which repositories there are, who may start runs of them and how, where
 * results go, what may be spent. Made from the team's settings at synth, and laid beside every function's code. No secret is in it.
 */
import * as z from 'zod'
import { isBranchName } from './branch-name.ts'
import { normaliseRepository } from './run-id.ts'

const branchName = z.string().refine(isBranchName, 'no name that git allows for a branch')
const agentOrder = z.array(z.string().regex(/^[a-z][a-z0-9-]{0,63}$/)).min(1)
const agents = z.strictObject({ reviewer: agentOrder, fixer: agentOrder, certifier: agentOrder })

const forge = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('git') }),
  /** Nothing is fetched from its address, which is a name alone: its CI uploads bundles, and nothing is published. */
  z.strictObject({ kind: z.literal('bundle') }),
  z.strictObject({
    kind: z.literal('github'),
    /** Ids, not names: they stay when a repository or its owner is renamed, and nobody can take them over. */
    repositoryId: z.int().min(1),
    ownerId: z.int().min(1),
    apiUrl: z.url().default('https://api.github.com'),
  }),
  z.strictObject({
    kind: z.literal('gitlab'),
    projectId: z.int().min(1),
    /** Of the group or user that the project belongs to; absent: any. */
    namespaceId: z.int().min(1).optional(),
    apiUrl: z.url().default('https://gitlab.com/api/v4'),
  }),
])

/** What a token of a CI job has to say, beside whose repository it is. `*` in an entry stands for any text. */
const oidc = z.strictObject({
  /** Of GitHub: `event_name`; of GitLab: `pipeline_source`. */
  events: z.array(z.string()).min(1).default(['push', 'pull_request', 'workflow_dispatch', 'merge_request_event', 'web']),
  refs: z.array(z.string()).min(1).default(['refs/heads/*', 'refs/pull/*']),
  /** Of GitHub: `owner/name/.github/workflows/file.yml`, without the part after `@`; of GitLab: path of the CI file. Absent: any. */
  workflows: z.array(z.string()).min(1).optional(),
  /** Of GitLab: whether the branch of the job has to be a protected one. */
  protectedOnly: z.boolean().default(false),
})

/** How much one nightly run reviews: what is over it is left to the nights after. */
const nightly = z.strictObject({
  branch: branchName,
  commits: z.int().min(1).default(50),
  files: z.int().min(1).default(300),
  bytes: z.int().min(1).default(2_000_000),
})

/** Absent: no bound. Of a day by UTC. */
const spending = z.strictObject({ tokens: z.int().min(1).optional(), dollars: z.number().positive().optional() })
const budgets = z.strictObject({
  /** Runs at once; a parked one counts. */
  runs: z.int().min(1).optional(),
  day: spending.prefault({}),
})

const NOTICES = ['parked', 'failed', 'budget', 'nightly'] as const
export type NoticeKind = (typeof NOTICES)[number]
const notify = z.strictObject({ on: z.array(z.enum(NOTICES)).default([...NOTICES]) })

const repository = z.strictObject({
  url: z.string().min(1),
  defaultBranch: branchName.default('main'),
  forge: forge.default({ kind: 'git' }),
  triggers: z
    .strictObject({
      /** Callers with credentials of the account. */
      api: z.boolean().default(true),
      oidc: oidc.optional(),
      webhook: z.boolean().default(false),
      schedule: nightly.optional(),
    })
    .prefault({}),
  /** Where fixes go: onto a branch of their own, there and into a pull request, or, once approved, onto the branch that was reviewed. */
  publish: z.enum(['branch', 'pull-request', 'reviewed-branch']).default('branch'),
  agents: agents.partial().default({}),
  /** `run` bounds what the repository's own settings allow. */
  budgets: budgets.extend({ run: spending.prefault({}) }).prefault({}),
  notify: notify.optional(),
})
export type DeployedRepository = z.infer<typeof repository>

export const deployment = z.strictObject({
  stage: z.string().default('local'),
  repositories: z.array(repository).default([]),
  /** Where neither the repository nor the deployment's part for it names any. */
  agents: agents.partial().default({}),
  budgets: budgets.prefault({}),
  /** What a token of a CI job has to be made out to. */
  audience: z.string().min(1).default('reviewloop'),
  github: z.strictObject({ appId: z.int().min(1) }).optional(),
  notify: notify.prefault({}),
})
export type Deployment = z.infer<typeof deployment>

/** Where nobody names any. */
export const DEFAULT_AGENTS: readonly string[] = ['lint']

/** Of the embedded engine: any repository, no bound. */
export const NO_DEPLOYMENT: Deployment = deployment.parse({})

/** The repository under that address, however it is spelled; null where the deployment has none. */
export const repositoryOf = ({ repositories }: Deployment, url: string): DeployedRepository | null =>
  repositories.find((entry) => normaliseRepository(entry.url) === normaliseRepository(url)) ?? null

/** Agents of the deployment for a repository, by role; what neither names is left out. */
export const deployedAgents = (facts: Deployment, url: string): Deployment['agents'] => ({
  ...facts.agents,
  ...repositoryOf(facts, url)?.agents,
})

/** What makes the same request another run where the deployment's agents are others. */
export const agentsOf = (
  ports: { deployment: Deployment; defaultAgents: readonly string[] },
  url: string,
): readonly string[] | Deployment['agents'] => {
  const named = deployedAgents(ports.deployment, url)
  return Object.keys(named).length ? named : ports.defaultAgents
}
