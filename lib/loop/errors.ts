/**
 * The catalogue of errors: one table. It drives Retry and Catch of the state machine, the API's answers, the command
 * line's messages and exit codes, and docs/errors.md. What is not in it is not retried.
 *
 * class: `transient` is retried; `service` is a fault of ours or of a service, not retried; `user` is for the person who
 * started the run to mend; `stale` means that this execution or worker no longer speaks for the run: it ends silently.
 */
export type ErrorClass = 'transient' | 'service' | 'user' | 'stale'

export interface ErrorEntry {
  class: ErrorClass
  /** What happened, one sentence. */
  meaning: string
  /** What to do next, one sentence; shown to people. */
  remedy: string
  /** Status of the HTTP API. */
  http: number
}

const entry = (cls: ErrorClass, http: number, meaning: string, remedy: string): ErrorEntry => ({ class: cls, http, meaning, remedy })

export const ERRORS = {
  // turns
  TurnBusy: entry(
    'transient',
    409,
    'Another worker holds this turn.',
    'Nothing to do: it is tried again until the lease of the other worker is over.',
  ),
  StaleTurn: entry('stale', 409, 'A later turn has already finished.', 'Nothing to do: the run has gone on without this worker.'),
  StaleExecution: entry(
    'stale',
    409,
    'A newer execution speaks for this run, or the run has ended.',
    'Nothing to do: look at the run with `reviewloop show`.',
  ),
  TurnFailed: entry(
    'service',
    500,
    'The turn has failed for good before.',
    'Read the failure that is recorded with the turn; start again with `--again`.',
  ),
  // agents
  AgentThrottled: entry(
    'transient',
    429,
    'The model provider throttled the agent.',
    'It is retried with its session kept; if it persists, raise the quota.',
  ),
  AgentOverloaded: entry('transient', 503, 'The model provider answered with a server error.', 'It is retried with its session kept.'),
  AgentTimedOut: entry(
    'transient',
    504,
    'The agent did not answer before the turn ran out of time.',
    'Raise `limits.turn_minutes`, or review a smaller change.',
  ),
  AgentCancelled: entry('transient', 499, 'The turn was interrupted.', 'Go on with `reviewloop resume`.'),
  AgentRefused: entry(
    'user',
    422,
    'The provider refused the request or withheld the output.',
    'Read the reason in the report; use another agent or narrow the change.',
  ),
  AgentOutputInvalid: entry(
    'service',
    502,
    'The agent answered twice with output that does not fit the schema.',
    'Start again with `--again`; if it persists, choose another agent.',
  ),
  AgentFailed: entry('service', 502, 'The agent failed.', 'Read the reason in the report; start again with `--again`.'),
  AgentUnavailable: entry(
    'user',
    424,
    'None of the agents that the policy names can run here.',
    'Run `reviewloop doctor`, install the agent it names, or set `agent` to one that is there.',
  ),
  // input
  BadRequest: entry('user', 400, 'The request is not valid.', 'Mend what the message names and send it again.'),
  BadSettings: entry(
    'user',
    422,
    'The settings file is not valid.',
    'Mend the key the message names; `reviewloop init` writes a valid file.',
  ),
  NotARepository: entry(
    'user',
    400,
    'The path is not a git repository.',
    'Run inside a repository or name one: `reviewloop run ../project`.',
  ),
  NoCommit: entry(
    'user',
    400,
    'The repository has no such commit.',
    'Commit first, or name what exists: `reviewloop run --head my-branch`.',
  ),
  NoBase: entry('user', 400, 'No base to compare with was found.', 'Name it: `reviewloop run --base main`.'),
  NoSuchRoute: entry('user', 404, 'The API has no such route.', 'Look at its description: GET /openapi.json.'),
  NotAuthenticated: entry(
    'user',
    401,
    'The caller has not proved who it is, or its proof is not accepted.',
    'Sign the request, or send a fresh token made out to the audience of the deployment.',
  ),
  CallerRefused: entry(
    'user',
    403,
    'The caller may not do this.',
    'Read which claim was refused, and mend the job or the `oidc` settings of the repository.',
  ),
  IssuerUnavailable: entry('service', 503, "The keys of a token's issuer could not be fetched.", 'Try again in a moment.'),
  RepositoryNotAllowed: entry(
    'user',
    403,
    'The repository is not one of this deployment.',
    'Add it to the deployment settings and deploy again.',
  ),
  NotTheBranchHead: entry(
    'user',
    409,
    'The commit is not the head of its branch.',
    'Push first, or ask for the commit that is the head of the branch.',
  ),
  BadSignature: entry(
    'user',
    401,
    'The signature of the delivery is missing or wrong.',
    'Give the webhook of the repository the secret that the deployment has.',
  ),
  NotPermitted: entry('user', 403, 'Only people who may write to the repository command its runs.', 'Ask somebody who has write access.'),
  PayloadTooLarge: entry('user', 413, 'The body is larger than what is read.', 'Send less at once.'),
  BudgetExceeded: entry(
    'user',
    429,
    'A budget of the deployment is used up, or as many runs are under way as may be.',
    'Wait for a run to end, or for the next day (UTC); or raise `budgets` in the deployment settings.',
  ),
  RunNotFound: entry('user', 404, 'There is no such run.', 'List the runs with `reviewloop list`.'),
  NoPatch: entry('user', 404, 'The run has no patch.', 'No fix was committed: look at the report.'),
  RunEnded: entry('user', 409, 'The run has ended.', 'Look at it with `reviewloop show`, or start a new attempt with `--again`.'),
  // decisions
  BadDecision: entry(
    'user',
    422,
    'The decision does not fit the question.',
    'Mend what the message names; `reviewloop show` prints the question.',
  ),
  StaleDecision: entry(
    'user',
    409,
    'The question was answered already, or the run is no longer parked.',
    'Look at the run with `reviewloop show`.',
  ),
  RoundsUsedUp: entry('user', 422, 'No round is left for another fix.', 'Approve, skip or abort; or start again with more `rounds`.'),
  // source
  BaseUnreachable: entry('user', 422, 'No merge base was found within the depth limit.', 'Raise `limits.depth`, or rebase the branch.'),
  BranchGone: entry('user', 410, 'The branch no longer exists.', 'Push it again and start a new run.'),
  HeadMoved: entry('user', 409, 'The branch moved while the run worked.', 'Nothing was pushed; the newer head gets a run of its own.'),
  BranchTaken: entry(
    'user',
    409,
    'A branch of the name to publish under exists and holds something else.',
    'Name another with `--branch`, or delete it.',
  ),
  NightBranchMoved: entry(
    'user',
    409,
    'Somebody has pushed onto the branch that holds the fixes of earlier nights.',
    'Merge that branch or take what is on it elsewhere, and delete it: the next night begins a new one.',
  ),
  BundleRefused: entry(
    'user',
    422,
    'The uploaded bundle cannot be used.',
    'Make it from a full clone with `git bundle create change.bundle BASE HEAD`, upload that, and start again.',
  ),
  ChangeTooLarge: entry(
    'user',
    413,
    'The change or the repository is over a limit.',
    'Raise the limit the message names, or split the change.',
  ),
  FetchFailed: entry(
    'transient',
    502,
    'git could not fetch from the repository.',
    'Check the address and the token (REVIEWLOOP_GIT_TOKEN); it is retried.',
  ),
  FetchRefused: entry(
    'user',
    403,
    'The repository refused the credential, or does not exist.',
    'Check the address and give a token that may read it in REVIEWLOOP_GIT_TOKEN.',
  ),
  PushFailed: entry('transient', 502, 'git could not push.', 'It is retried; the fixes are in the patch of the report.'),
  PushRefused: entry(
    'user',
    403,
    'The repository refused the push.',
    'Give a token that may write in REVIEWLOOP_GIT_TOKEN; the fixes are in the patch of the report.',
  ),
  ForgeRefused: entry(
    'user',
    403,
    'The forge refused what it was told.',
    'Look whether the App, or the token, is installed for the repository and has the permission that the message names.',
  ),
  ForgeInvalid: entry(
    'service',
    422,
    'The forge did not understand what it was told.',
    'Report it with the run id; the run is not affected.',
  ),
  ForgeThrottled: entry('transient', 429, 'The forge is asked too often.', 'It is told again later.'),
  ForgeUnavailable: entry('transient', 502, 'The forge did not answer.', 'It is told again later.'),
  ChangesetMismatch: entry(
    'service',
    500,
    'The fix commits did not come out the same when they were applied again.',
    'Nothing was pushed; report this with the run id.',
  ),
  OutsideWorkspace: entry('user', 403, 'A path leads out of the workspace.', 'Nothing was read or written.'),
  EditRefused: entry('user', 403, 'The file may not be edited.', 'Edit it by hand.'),
  GitFailed: entry('service', 500, 'A git command failed.', 'Read the message; `reviewloop doctor` checks git.'),
  GitTimedOut: entry(
    'transient',
    504,
    'A git command did not end in time and was stopped.',
    'It is retried; raise `limits.turn_minutes` if the repository is large.',
  ),
  // stores
  ArtifactLost: entry('service', 500, 'An object that the run needs is missing or altered.', 'Start again with `--again`.'),
  StoreConflict: entry('transient', 409, 'Others wrote the same item again and again.', 'It is retried.'),
  StoreUnavailable: entry('transient', 503, 'The store did not answer.', 'It is retried.'),
  // the embedded engine
  DataFolderBusy: entry(
    'user',
    409,
    'Another process owns the data folder.',
    'Wait for it, stop it, or name another folder with `--data`.',
  ),
  Interrupted: entry('user', 499, 'The run was interrupted.', 'Go on with `reviewloop resume`.'),
  // anything that has no row of its own
  Unexpected: entry(
    'service',
    500,
    'Something failed that has no row of its own.',
    'Report it with the run id; start again with `--again`.',
  ),
} as const satisfies Record<string, ErrorEntry>

export type ErrorName = keyof typeof ERRORS

/** The one error class: its `name` is the row of the catalogue, which is what Step Functions' Retry and Catch match. */
export class LoopError extends Error {
  override readonly name: ErrorName
  /** Facts for people and programs; never a secret. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(name: ErrorName, message?: string, details: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(message ?? ERRORS[name].meaning, options)
    this.name = name
    this.details = details
  }

  get entry(): ErrorEntry {
    return ERRORS[this.name]
  }
}

export const isErrorName = (name: string): name is ErrorName => Object.hasOwn(ERRORS, name)

export const errorsOfClass = (cls: ErrorClass): ErrorName[] =>
  (Object.keys(ERRORS) as ErrorName[]).filter((name) => ERRORS[name].class === cls)

/** Gives anything thrown its row of the catalogue: what has none is `Unexpected`. */
export const asLoopError = (error: unknown): LoopError =>
  error instanceof LoopError
    ? error
    : new LoopError('Unexpected', error instanceof Error ? error.message : String(error), {}, { cause: error })
