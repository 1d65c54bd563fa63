/** Settings of a deployment, as a team writes them: every key has a default but what cannot have one, and says what it holds. */
import * as z from 'zod'
import { FOREIGN_EVENTS, MAX_PARK_DAYS } from '../names.ts'
import { acpSettings } from './acp.ts'
import { bedrockSettings } from './bedrock.ts'
import { claudeSettings } from './claude.ts'
import { codexSettings } from './codex.ts'
import { secretArn } from './secret-arn.ts'
import { agentsByRole, budgets, NOTICES, noticesOn, repository } from './settings-repository.ts'

const github = z.strictObject({
  appId: z.int().min(1).describe("the App's id, from its settings page"),
  keySecret: secretArn.describe(
    "full ARN of the secret that holds the App's private key, as GitHub gives it out (PEM); Publish alone may read it",
  ),
  webhookSecret: secretArn.optional().describe("full ARN of the secret that holds the webhook's secret; needed for webhooks"),
})

const notify = z.strictObject({
  emails: z.array(z.email()).max(50).default([]).describe('addresses that are subscribed to the topic'),
  on: noticesOn.default([...NOTICES]),
})

const work = z.int().min(MAX_PARK_DAYS + 6)
const retention = z.strictObject({
  workDays: work
    .default(90)
    .describe('days that sources, transcripts and unfinished work are kept at most; longer than a run may be parked'),
  recordDays: work.default(400).describe('days that records, changesets, decisions and reports are kept'),
  logDays: z.literal([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 731]).default(90).describe('days that logs are kept'),
})

const written = z.strictObject({
  stage: z
    .string()
    .regex(/^[a-z][a-z0-9-]{0,19}$/, 'lower-case letters, digits and dashes, at most 20')
    .default('prod')
    .describe('suffix of the names of everything that is deployed'),
  protect: z
    .boolean()
    .optional()
    .describe('whether tables and bucket outlive the stack and refuse to be deleted; absent: where `stage` is `prod`'),
  repositories: z.array(repository).min(1).max(500).describe('the repositories that may be reviewed, at least one'),
  agents: agentsByRole
    .optional()
    .describe(
      "agents in the order in which they are tried, where a repository's own settings name none; one list, or one by role; absent: `bedrock` where its settings are given, else `lint`",
    ),
  bedrock: bedrockSettings.optional().describe('the agent `bedrock`; absent: no function may call a model'),
  claude: claudeSettings.optional().describe('the agent `claude`; absent: no function may reach its model'),
  codex: codexSettings.optional().describe('the agent `codex`; absent: no turn may read its key'),
  acp: acpSettings.optional().describe('the agent `acp`: any that speaks the Agent Client Protocol'),
  gitTokenSecret: secretArn
    .optional()
    .describe('full ARN, with its six random characters, of the secret that holds the git token; absent: public repositories only'),
  pushTokenSecret: secretArn
    .optional()
    .describe(
      'full ARN of the secret that holds the git token which pushes; Publish alone reads it; absent: `gitTokenSecret`, which then has to be able to push',
    ),
  github: github.optional().describe('the GitHub App; absent: nothing but branches is written on GitHub'),
  audience: z.string().min(1).max(200).default('reviewloop').describe('audience that the identity token of a CI job has to be made out to'),
  budgets: budgets.prefault({}).describe('bounds of all repositories together'),
  notify: notify.prefault({}).describe('whom and what of people are told'),
  retention: retention.prefault({}).describe('how long things are kept'),
})

/** What a settings file may hold. */
export type TeamSettings = z.input<typeof written>

const named = (agents: z.infer<typeof agentsByRole> | undefined): string[] =>
  Array.isArray(agents) ? agents : Object.values(agents ?? {}).flatMap((order) => order ?? [])

/** Every agent that the settings name anywhere, once. */
export const agentsNamed = ({ agents, repositories }: Pick<z.infer<typeof written>, 'agents' | 'repositories'>): string[] => [
  ...new Set([agents, ...repositories.map((entry) => entry.agents)].flatMap(named)),
]

/** One spelling for one address. */
const spelling = (url: string): string =>
  url
    .toLowerCase()
    .replace(/\/+$/, '')
    .replace(/\.git$/, '')

/** What an agent's settings have to hold. */
const NEEDED = { bedrock: 'the model', claude: 'the model', codex: 'the model and the secret with its key', acp: 'the command' } as const

const checked = written.check(({ value, issues }) => {
  const wrong = (path: (string | number)[], message: string) => issues.push({ code: 'custom', path, message, input: value })
  const { repositories, github: app } = value
  for (const [agent, needed] of Object.entries(NEEDED))
    if (!value[agent as keyof typeof NEEDED] && agentsNamed(value).includes(agent))
      wrong([agent], `the agent ${agent} is named: give its settings, ${needed} at least`)
  if ((value.acp?.key === undefined) !== (value.acp?.keySecret === undefined))
    wrong(['acp', 'keySecret'], 'the key is a secret, and has a variable: give key and keySecret, or neither')
  for (const [index, { url, forge, triggers, publish, schedule }] of repositories.entries()) {
    const at = (...path: (string | number)[]) => ['repositories', index, ...path]
    if (repositories.findIndex((other) => spelling(other.url) === spelling(url)) !== index) wrong(at('url'), `${url} is listed twice`)
    if (schedule && forge.kind === 'bundle')
      wrong(at('schedule'), 'nobody uploads a bundle by the clock: have a job of the CI start the run')
    if (triggers.oidc && (forge.kind === 'git' || forge.kind === 'bundle'))
      wrong(at('triggers', 'oidc'), 'a plain git server issues no tokens: name the forge, or start runs with AWS credentials')
    if (triggers.oidc?.protectedOnly && forge.kind !== 'gitlab')
      wrong(at('triggers', 'oidc', 'protectedOnly'), 'asked of tokens of GitLab only: name the branches in refs')
    for (const [place, event] of (triggers.oidc?.events ?? []).entries())
      if (FOREIGN_EVENTS.includes(event))
        wrong(at('triggers', 'oidc', 'events', place), `jobs of ${event} may run on the change of a fork: they start nothing, take it out`)
    if (triggers.webhook && forge.kind !== 'github') wrong(at('triggers', 'webhook'), 'webhooks are taken of GitHub only')
    if (triggers.webhook && forge.kind === 'github' && !app?.webhookSecret)
      wrong(at('triggers', 'webhook'), 'webhooks are signed: give github.webhookSecret')
    if (publish === 'pull-request' && (forge.kind !== 'github' || !app))
      wrong(at('publish'), 'pull requests are opened by the GitHub App: give github, and the forge of the repository')
  }
})

export const settings = checked.transform(({ agents, ...rest }) => ({ ...rest, agents: agents ?? [rest.bedrock ? 'bedrock' : 'lint'] }))
export type Settings = z.infer<typeof settings>
