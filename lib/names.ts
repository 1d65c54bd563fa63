/** Names that the deployed stack, the handlers and the embedded engine share. The one file of lib/ that infra/ may import. */

/** The two roles that keep a session. */
export const ROLES = ['reviewer', 'fixer'] as const
export type Role = (typeof ROLES)[number]

/** Everyone who takes turns: the certifier has a turn item but never a session. */
export const TURN_ROLES = ['reviewer', 'fixer', 'certifier'] as const
export type TurnRole = (typeof TURN_ROLES)[number]

/** Task states of the machine: one state, one function, one folder. */
export const TASK_STATES = ['Prepare', 'Review', 'Fix', 'Certify', 'Park', 'Decide', 'Publish', 'RecordFailure', 'Close'] as const
export type TaskState = (typeof TASK_STATES)[number]

/** What `$.next` may say. `Done` and `Failed` are the ends that Close leads to. */
export const STEPS = ['Prepare', 'Review', 'Fix', 'Certify', 'Park', 'Decide', 'Publish', 'Close', 'Done', 'Failed'] as const
export type Step = (typeof STEPS)[number]

/** States without a function: the choice on `$.next`, and the ends. `Stale` is where an execution that no longer speaks for its run stops. */
export const CONTROL_STATES = ['Route', 'Done', 'Failed', 'Stale'] as const

export const STATE_OF_ROLE = { reviewer: 'Review', fixer: 'Fix', certifier: 'Certify' } as const satisfies Record<TurnRole, TaskState>

/** Folder below functions/ of each function; the states' names in kebab case, then the doors. */
export const FUNCTION_FOLDERS = {
  Prepare: 'prepare',
  Review: 'review',
  Fix: 'fix',
  Certify: 'certify',
  Park: 'park',
  Decide: 'decide',
  Publish: 'publish',
  RecordFailure: 'record-failure',
  Close: 'close',
  Start: 'start',
  Show: 'show',
  Report: 'report',
  Answer: 'answer',
  Abort: 'abort',
  Webhook: 'webhook',
  Upload: 'upload',
  Watch: 'watch',
} as const
export type FunctionName = keyof typeof FUNCTION_FOLDERS

/** Who a route of the API is open to: callers that IAM lets in, or jobs of a CI by its OIDC tokens. */
export const CI_KINDS = ['github', 'gitlab'] as const
export type CiKind = (typeof CI_KINDS)[number]

/** Who signs the tokens of the jobs of a forge, by the address of the forge's API. */
export const ciIssuer = (kind: CiKind, apiUrl: string): string => {
  const { origin, hostname } = new URL(apiUrl)
  if (kind === 'gitlab') return origin
  return hostname === 'api.github.com' ? 'https://token.actions.githubusercontent.com' : `${origin}/_services/token`
}

/** Events whose job runs with the rights of the repository on a change of somebody else. No setting allows them. */
export const FOREIGN_EVENTS: readonly string[] = ['pull_request_target', 'workflow_run', 'issue_comment', 'external_pull_request_event']

/** Every route of the HTTP API, and the function that answers it. A CI's routes begin with `/ci/`, and reach its own repository alone. */
export const API_ROUTES = {
  'POST /runs': { function: 'Start', open: 'iam' },
  'GET /runs': { function: 'Show', open: 'iam' },
  'GET /runs/{id}': { function: 'Show', open: 'iam' },
  'GET /runs/{id}/report': { function: 'Report', open: 'iam' },
  'POST /runs/{id}/decision': { function: 'Answer', open: 'iam' },
  'POST /runs/{id}/abort': { function: 'Abort', open: 'iam' },
  'POST /uploads': { function: 'Upload', open: 'iam' },
  'GET /health': { function: 'Show', open: 'iam' },
  'GET /openapi.json': { function: 'Show', open: 'iam' },
  'POST /ci/github/runs': { function: 'Start', open: 'github' },
  'GET /ci/github/runs/{id}': { function: 'Show', open: 'github' },
  'GET /ci/github/runs/{id}/report': { function: 'Report', open: 'github' },
  'POST /ci/gitlab/runs': { function: 'Start', open: 'gitlab' },
  'GET /ci/gitlab/runs/{id}': { function: 'Show', open: 'gitlab' },
  'GET /ci/gitlab/runs/{id}/report': { function: 'Report', open: 'gitlab' },
} as const satisfies Record<string, { function: FunctionName; open: 'iam' | CiKind }>
export type ApiRoute = keyof typeof API_ROUTES

/** Where GitHub posts its webhooks, to the function Webhook: open to what is signed. */
export const WEBHOOK_PATH = '/webhooks/github'

/** Functions that touch source run from the container image; the others are zips. */
export const IMAGE_FUNCTIONS = ['Prepare', 'Review', 'Fix', 'Certify', 'Publish'] as const satisfies readonly FunctionName[]

/** Environment variables of the functions. A function is given only those it needs. */
export const ENV = {
  sessionsTable: 'REVIEWLOOP_SESSIONS_TABLE',
  runsTable: 'REVIEWLOOP_RUNS_TABLE',
  bucket: 'REVIEWLOOP_BUCKET',
  /** ARN of the state machine (start, decide, record-failure). */
  machine: 'REVIEWLOOP_MACHINE',
  /** Name of the secret that holds the git token which reads (prepare, start, webhook). */
  gitTokenSecret: 'REVIEWLOOP_GIT_TOKEN_SECRET',
  /** Name of the secret that holds the git token which pushes (publish). */
  pushTokenSecret: 'REVIEWLOOP_PUSH_TOKEN_SECRET',
  /** ARN of the function Publish: it is called when a forge is to be told how a run stands. */
  publishFunction: 'REVIEWLOOP_PUBLISH_FUNCTION',
  /** ARN of the secret that holds the private key of the GitHub App (publish). */
  githubKeySecret: 'REVIEWLOOP_GITHUB_KEY_SECRET',
  /** The git token itself: the command line, and tests. Never set on a deployed function. */
  gitToken: 'REVIEWLOOP_GIT_TOKEN',
  /** ARN of the topic by which people are told (park, close). */
  topic: 'REVIEWLOOP_TOPIC',
  /** ARN of the secret that the webhooks of the repositories are signed with (webhook). */
  hookSecret: 'REVIEWLOOP_HOOK_SECRET',
  /** Namespace of the metrics in CloudWatch (every function). */
  metrics: 'REVIEWLOOP_METRICS',
  /** Settings of the agent `bedrock`: docs/agents.md says what each may hold. */
  bedrockModel: 'REVIEWLOOP_BEDROCK_MODEL',
  bedrockRegion: 'REVIEWLOOP_BEDROCK_REGION',
  bedrockEffort: 'REVIEWLOOP_BEDROCK_EFFORT',
  bedrockMaxTokens: 'REVIEWLOOP_BEDROCK_MAX_TOKENS',
  bedrockContextTokens: 'REVIEWLOOP_BEDROCK_CONTEXT_TOKENS',
  bedrockCache: 'REVIEWLOOP_BEDROCK_CACHE',
  bedrockStrict: 'REVIEWLOOP_BEDROCK_STRICT',
  bedrockPrices: 'REVIEWLOOP_BEDROCK_PRICES',
  /** Settings of the agent `codex`: docs/agents.md says what each may hold. */
  codexModel: 'REVIEWLOOP_CODEX_MODEL',
  codexBaseUrl: 'REVIEWLOOP_CODEX_BASE_URL',
  codexEffort: 'REVIEWLOOP_CODEX_EFFORT',
  codexContextTokens: 'REVIEWLOOP_CODEX_CONTEXT_TOKENS',
  codexPrices: 'REVIEWLOOP_CODEX_PRICES',
  /** Name of the secret that holds the key of its provider. */
  codexKeySecret: 'REVIEWLOOP_CODEX_KEY_SECRET',
  /** Settings of the agent `claude`. */
  claudeModel: 'REVIEWLOOP_CLAUDE_MODEL',
  claudeProvider: 'REVIEWLOOP_CLAUDE_PROVIDER',
  claudeRegion: 'REVIEWLOOP_CLAUDE_REGION',
  /** Name of the secret that holds the API key: the turns' functions alone read it. */
  claudeKeySecret: 'REVIEWLOOP_CLAUDE_KEY_SECRET',
  claudeEffort: 'REVIEWLOOP_CLAUDE_EFFORT',
  claudeMaxTokens: 'REVIEWLOOP_CLAUDE_MAX_TOKENS',
  claudeContextTokens: 'REVIEWLOOP_CLAUDE_CONTEXT_TOKENS',
  /** Settings of the agent `acp`: docs/agents.md says what each may hold. */
  acpCommand: 'REVIEWLOOP_ACP_COMMAND',
  acpEnvironment: 'REVIEWLOOP_ACP_ENVIRONMENT',
  acpState: 'REVIEWLOOP_ACP_STATE',
  acpFiles: 'REVIEWLOOP_ACP_FILES',
  acpLogin: 'REVIEWLOOP_ACP_LOGIN',
  acpKey: 'REVIEWLOOP_ACP_KEY',
  /** Name of the secret that holds the key of its provider. */
  acpKeySecret: 'REVIEWLOOP_ACP_KEY_SECRET',
  acpContextTokens: 'REVIEWLOOP_ACP_CONTEXT_TOKENS',
  /** Folder below whose node_modules the packages of the optional agents are installed. */
  agents: 'REVIEWLOOP_AGENTS',
  /** Token of a `reviewloop serve` of this machine, for `--remote`. */
  remoteToken: 'REVIEWLOOP_REMOTE_TOKEN',
  /** The embedded engine's data folder. */
  data: 'REVIEWLOOP_DATA',
} as const

/** Agents whose packages are installed only where they are wanted. */
export const OPTIONAL_AGENTS = ['claude', 'codex'] as const
export type OptionalAgent = (typeof OPTIONAL_AGENTS)[number]

/** Attributes of the tables. `Sessions` has a partition key only; `Runs` a partition and a sort key. */
export const TABLE = {
  pk: 'pk',
  sk: 'sk',
  ttl: 'ttl',
  /** Sort keys of `Runs`: the run item and the branch lock; a turn of the history is `turnSk(n)` below `<runId>#<role>`. */
  runSk: 'run',
  branchSk: 'branch',
  /** Below the key of a branch: up to where the nights have reviewed it. */
  nightSk: 'night',
  /** Below the key of a budget: the counter of a day is `day#<date>`; the places of the runs that there are. */
  daySk: 'day',
  placesSk: 'places',
  /** What the forge was told of the run. */
  forgeSk: 'forge',
  /** Index of `Runs` by sort key and time of creation: of all items the run items alone have both. */
  runsByTime: 'runs-by-time',
  createdAt: 'createdAt',
  deliverySk: 'delivery',
} as const

/** What the index holds of a run item beside its keys: enough for a list, and no task token. */
export const LISTED = ['runId', 'request', 'status', 'startedBy', 'verdict', 'updatedAt', 'endedAt'] as const

/** Partition key of a role's item, in both tables. */
export const roleKey = (runId: string, role: TurnRole): string => `${runId}#${role}`
/** Partition key of the counters of a scope: a repository, or the whole deployment. */
export const budgetKey = (scope: string): string => `budget#${scope}`
export const turnSk = (turn: number): string => `turn#${String(turn).padStart(5, '0')}`

/** Partition key of the item of a webhook's delivery. */
export const deliveryKey = (id: string): string => `delivery#${id}`

/** Kinds of artifact: the first part of every object key. Below it comes the writer, then the run, then `<turn>.<fence>`. */
export const ARTIFACTS = [
  'source',
  'transcripts',
  'records',
  'changesets',
  'work',
  'decisions',
  'reports',
  'deliveries',
  'uploads',
] as const
export type ArtifactKind = (typeof ARTIFACTS)[number]

/** Immutable object of one turn: `<kind>/<role>/<runId>/<turn>.<fence>`. */
export const turnObjectKey = (kind: ArtifactKind, role: TurnRole, runId: string, turn: number, fence: number): string =>
  `${kind}/${role}/${runId}/${turn}.${fence}`

/** How a run may end. */
export const OUTCOMES = ['approved', 'changes-requested', 'aborted', 'superseded', 'failed'] as const

/** Errors that say that somebody else has too much to do: they are counted, whoever meets them. */
export const THROTTLES = ['AgentThrottled', 'AgentOverloaded', 'ForgeThrottled'] as const

/** Metrics of a deployment, each with the dimension that divides it: whoever emits, draws or watches one takes it from here. */
export const METRICS = {
  /** Finished turns; those that went on in a fresh session because theirs was dead; those that began anew though a session was to be there. */
  Turns: { unit: 'Count', by: 'Role' },
  TurnsFellBack: { unit: 'Count', by: 'Role' },
  TurnsCold: { unit: 'Count', by: 'Role' },
  TurnsAtLimit: { unit: 'Count', by: 'Role' },
  TurnTime: { unit: 'Seconds', by: 'Role' },
  /** What a turn used; what the agent cannot tell is not counted. Tokens from the cache are among those that went in. */
  AgentCalls: { unit: 'Count', by: 'Role' },
  TokensIn: { unit: 'Count', by: 'Role' },
  TokensFromCache: { unit: 'Count', by: 'Role' },
  TokensOut: { unit: 'Count', by: 'Role' },
  Dollars: { unit: 'None', by: 'Role' },
  RunsEnded: { unit: 'Count', by: 'Outcome' },
  RunTime: { unit: 'Seconds', by: 'Outcome' },
  RunsParked: { unit: 'Count', by: null },
  /** From the question to its answer, or to the end of the time for one. */
  ParkedTime: { unit: 'Seconds', by: null },
  Throttles: { unit: 'Count', by: 'Error' },
  /** How things stand, said by Watch: runs that are worked on or wait for a person, and since when the longest of them is. */
  RunsAtWork: { unit: 'Count', by: null },
  RunsWaiting: { unit: 'Count', by: null },
  LongestAtWork: { unit: 'Seconds', by: null },
  LongestWaiting: { unit: 'Seconds', by: null },
  OldestRun: { unit: 'Seconds', by: null },
} as const satisfies Record<string, { unit: 'Count' | 'Seconds' | 'None'; by: 'Role' | 'Outcome' | 'Error' | null }>
export type MetricName = keyof typeof METRICS

/** CloudWatch's namespace of a deployment's metrics. */
export const metricNamespace = (stage: string): string => `reviewloop/${stage}`

/** Minutes between two looks of Watch. */
export const WATCH_MINUTES = 15

/** A run never waits for a person longer than this: the engine's timers and Lambda's tokens both stay below it. */
export const MAX_PARK_DAYS = 24

/** Execution of a run's epoch. A name cannot be used again, so an epoch has one execution. */
export const executionName = (runId: string, epoch: number): string => `${runId}-${epoch}`

/** A turn of an agent may take this long, in minutes: the policy's own limit stays at or below it. */
export const MAX_TURN_MINUTES = 14

/** Rows of the error catalogue that end an execution silently. */
export const STALE_ERRORS = ['StaleTurn', 'StaleExecution'] as const

/** One retrier: `attempts` further tries, the first after `seconds`, each wait `rate` times the one before, at most `longest`. */
export interface Retrier {
  errors: readonly string[]
  seconds: number
  rate: number
  longest: number
  attempts: number
  /** Spreads the waits at random, so that many runs do not come back at once. */
  spread: boolean
}

/**
 * Retry of every Task, in this order: the transient rows of the error catalogue, then what Lambda itself may answer.
 * The waits of `TurnBusy` together outlast the lease of every worker that the last row lets a state lose, so they are never spread: a
 * spread wait may be no wait at all.
 */
export const RETRIERS: readonly Retrier[] = [
  { errors: ['TurnBusy'], seconds: 30, rate: 1.5, longest: 120, attempts: 28, spread: false },
  { errors: ['AgentThrottled', 'AgentOverloaded'], seconds: 20, rate: 2, longest: 300, attempts: 6, spread: true },
  // A turn that ran out of time costs a whole turn each time.
  { errors: ['AgentTimedOut', 'AgentCancelled', 'GitTimedOut'], seconds: 5, rate: 2, longest: 60, attempts: 2, spread: false },
  {
    errors: ['FetchFailed', 'PushFailed', 'ForgeThrottled', 'ForgeUnavailable', 'StoreConflict', 'StoreUnavailable'],
    seconds: 5,
    rate: 2,
    longest: 120,
    attempts: 5,
    spread: true,
  },
  {
    errors: ['Lambda.ServiceException', 'Lambda.AWSLambdaException', 'Lambda.SdkClientException', 'Lambda.TooManyRequestsException'],
    seconds: 2,
    rate: 2,
    longest: 120,
    attempts: 8,
    spread: true,
  },
  // The function was killed: out of time, out of memory, or gone. The lease tells whether its turn may be taken again.
  {
    errors: ['Lambda.Unknown', 'Sandbox.Timedout', 'Runtime.ExitError', 'Runtime.OutOfMemory', 'States.Timeout'],
    seconds: 10,
    rate: 2,
    longest: 60,
    attempts: 2,
    spread: false,
  },
]

/** Stands for the function of a state in the generated state machine of the embedded engine. */
export const placeholderArn = (state: TaskState): string => `arn:aws:lambda:us-east-1:000000000000:function:${state}`
