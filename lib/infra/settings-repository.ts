/** Settings of one repository of a deployment, as a team writes them: each key says what it holds. */
import * as z from 'zod'

const agentOrder = z
  .array(z.string().regex(/^[a-z][a-z0-9-]{0,63}$/, 'an agent is named by lower-case letters, digits and dashes'))
  .min(1)
  .max(10)
/** One order for all, or one by role. */
export const agentsByRole = z.union([
  agentOrder,
  z.strictObject({ reviewer: agentOrder, fixer: agentOrder, certifier: agentOrder }).partial(),
])

const branchName = z
  .string()
  .max(255)
  .regex(/^(?!-)(?!.*(\.\.|@\{|\/\/|\/$|\.lock$|\.$))[^\p{Cc} ~^:?*[\\]+$/u, 'no name that git allows for a branch')

const apiUrl = z.url({ protocol: /^https$/ })
const forge = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('git') }),
  z.strictObject({ kind: z.literal('bundle') }),
  z.strictObject({
    kind: z.literal('github'),
    repositoryId: z.int().min(1).describe('the number that `gh api repos/OWNER/NAME --jq .id` prints'),
    ownerId: z.int().min(1).describe('the number that `gh api repos/OWNER/NAME --jq .owner.id` prints'),
    apiUrl: apiUrl.default('https://api.github.com').describe('address of the API, for a server of your own'),
  }),
  z.strictObject({
    kind: z.literal('gitlab'),
    projectId: z.int().min(1).describe('the id on the front page of the project'),
    namespaceId: z
      .int()
      .min(1)
      .optional()
      .describe('id of the group or user that it belongs to, which tokens of its jobs then have to name'),
    apiUrl: apiUrl.default('https://gitlab.com/api/v4').describe('address of the API, for a server of your own'),
  }),
])

const patterns = z.array(z.string().min(1).max(500)).min(1).max(50)
const oidc = z.strictObject({
  events: patterns
    .default(['push', 'pull_request', 'workflow_dispatch', 'merge_request_event', 'web'])
    .describe('events of the forge whose jobs may start runs: `event_name` of GitHub, `pipeline_source` of GitLab'),
  refs: patterns.default(['refs/heads/*', 'refs/pull/*']).describe('refs whose jobs may start runs; `*` stands for any text'),
  workflows: patterns
    .optional()
    .describe(
      'workflow files whose jobs may start runs, as `owner/name/.github/workflows/file.yml`, or of GitLab the CI file; absent: any',
    ),
  protectedOnly: z.boolean().default(false).describe('whether the branch of a job of GitLab has to be a protected one'),
})

const triggers = z.strictObject({
  api: z.boolean().default(true).describe('whether callers with AWS credentials may start runs'),
  oidc: z
    .union([z.boolean(), oidc])
    .default(false)
    .transform((value) => (value === true ? oidc.parse({}) : value === false ? undefined : value))
    .describe('whether CI jobs may start runs by their identity token; true, or the claims that are asked for'),
  webhook: z
    .boolean()
    .optional()
    .describe('whether pull requests and comments start runs; absent: where `github` is set and the repository is on GitHub'),
})

const schedule = z.strictObject({
  expression: z
    .string()
    .regex(/^(cron\(\S+( \S+){5}\)|rate\([1-9]\d* (minutes?|hours?|days?)\))$/, 'expected cron(six fields) or rate(n minutes|hours|days)')
    .describe('when, as EventBridge Scheduler takes it: `cron(0 3 * * ? *)` or `rate(1 day)`'),
  timezone: z
    .string()
    .refine(isTimezone, 'not a time zone of the IANA database, such as Europe/Berlin')
    .default('UTC')
    .describe('time zone of the expression, as in `Europe/Berlin`'),
  branch: branchName.optional().describe('branch that is reviewed; absent: the default branch'),
  commits: z.int().min(1).max(1000).default(50).describe('commits that one night reviews at most; the rest is left to the next'),
  files: z.int().min(1).default(300).describe('changed files that one night reviews at most'),
  bytes: z.int().min(1000).default(2_000_000).describe('bytes of the diff that one night reviews at most'),
})

const spending = z.strictObject({
  tokens: z.int().min(1).optional().describe('input and output tokens'),
  dollars: z.number().positive().optional().describe('US dollars, where the agent knows what it costs'),
})
export const budgets = z.strictObject({
  runs: z.int().min(1).max(1000).optional().describe('runs at once, parked ones among them; a start over it is refused'),
  day: spending.prefault({}).describe('what the agents may use in a day (UTC); a start over it is refused'),
})

export const NOTICES = ['parked', 'failed', 'budget', 'nightly'] as const
export const noticesOn = z
  .array(z.enum(NOTICES))
  .describe('what people are told of: a run that waits for them, one that failed, a budget that is used up, what a night came to')

export const repository = z.strictObject({
  url: z
    .url({ protocol: /^https$/ })
    .refine((url) => !hasCredential(url), 'a credential does not belong into a URL; name a secret in gitTokenSecret')
    .describe('https address, without a credential in it'),
  defaultBranch: branchName.default('main').describe('branch to compare with where a request names none'),
  forge: forge
    .default({ kind: 'git' })
    .describe(
      'what the repository is on: `git` for any server, `github`, `gitlab`, or `bundle` for one that is not fetched: its CI uploads bundles',
    ),
  triggers: triggers.prefault({}).describe('what may start runs'),
  schedule: schedule.optional().describe('a review by the clock; absent: none'),
  publish: z
    .enum(['branch', 'pull-request', 'reviewed-branch'])
    .optional()
    .describe(
      'where fixes go: onto a branch of their own, into a pull request as well, or, once approved, onto the branch that was reviewed, unless it is the default branch; absent: a pull request where `github` is set',
    ),
  agents: agentsByRole.optional().describe("agents that go before the deployment's; one list, or one by role"),
  budgets: budgets
    .extend({ run: spending.prefault({}).describe("what the agents may use in one run, whatever the repository's own settings say") })
    .prefault({})
    .describe('bounds of this repository'),
  notify: z.strictObject({ on: noticesOn }).optional().describe("what people are told of, instead of the deployment's"),
})

function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

function hasCredential(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { username, password } = new URL(url)
  return username !== '' || password !== ''
}
