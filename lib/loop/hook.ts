/** What a delivery of GitHub's asks for: the payload, checked down to the few fields that are used, made into an intent. Pure. */
import * as z from 'zod'
import type { Deployment, DeployedRepository } from './deployment.ts'
import { LoopError } from './errors.ts'
import { firstIssue } from './issue.ts'
import { oneLine } from './redact.ts'
import { commitId } from './run.ts'
import { normaliseRepository } from './run-id.ts'

const id = z.int().min(1)
const name = z.string().min(1).max(255)
const user = z.object({ id, login: z.string().regex(/^[\w.-]{1,100}(\[bot\])?$/), type: z.string().max(50).nullish() })
const repository = z.object({ id, clone_url: z.string().min(1).max(2048), owner: z.object({ id }) })
const side = z.object({ ref: name, sha: commitId, repo: z.object({ id }).nullable() })

const whose = z.object({ action: z.string().max(100), repository, sender: user })

const pullRequest = whose.extend({
  pull_request: z.object({ draft: z.boolean().nullish(), head: side, base: side }),
})

const check = z.object({
  head_sha: commitId,
  app: z.object({ id }).nullable(),
  pull_requests: z.array(z.object({ head: z.object({ ref: name, sha: commitId }), base: z.object({ ref: name }) })),
})
const checkRun = whose.extend({ check_run: check.extend({ check_suite: z.object({ head_branch: name.nullable() }) }) })
const checkSuite = whose.extend({ check_suite: check.extend({ head_branch: name.nullable() }) })

const issueComment = whose.extend({
  issue: z.object({ number: id, pull_request: z.object({}).nullish() }),
  comment: z.object({
    id,
    body: z.string().max(70_000),
    user,
    created_at: z.iso.datetime(),
    author_association: z.string().max(50),
    performed_via_github_app: z.object({}).nullish(),
  }),
})

export interface CommentIntent {
  kind: 'comment'
  repository: DeployedRepository
  pull: number
  text: string
  by: string
  /** Owns the repository: nobody has to be asked whether they may write to it. */
  owns: boolean
  /** When it was written, ms since 1970. */
  at: number
}
export type Intent =
  | { kind: 'ignore'; why: string }
  | { kind: 'start'; repository: DeployedRepository; branch: string; base?: string; head: string; again: boolean; by: string }
  | CommentIntent

/** Who it was, as runs and their reports say it. */
export const byName = (login: string): string => `${login} on GitHub`

const ignore = (why: string): Intent => ({ kind: 'ignore', why })

const parse = <T>(schema: z.ZodType<T>, payload: unknown): T => {
  const parsed = schema.safeParse(payload)
  if (parsed.success) return parsed.data
  throw new LoopError('BadRequest', `The payload is not what GitHub sends: ${firstIssue(parsed.error)}.`)
}

/** By its ids, which nobody can take over, and by its address, under which it is fetched. */
const repositoryIn = (deployment: Deployment, of: z.infer<typeof repository>): DeployedRepository => {
  const found = deployment.repositories.find(
    ({ forge }) => forge.kind === 'github' && forge.repositoryId === of.id && forge.ownerId === of.owner.id,
  )
  const refuse = (why: string): never => {
    throw new LoopError('RepositoryNotAllowed', why)
  }
  if (!found) return refuse(`The deployment has no GitHub repository with the id ${of.id} and the owner ${of.owner.id}.`)
  if (normaliseRepository(found.url) !== normaliseRepository(of.clone_url))
    return refuse(`The repository ${found.url} is now ${oneLine(of.clone_url)}: give its new address in the settings and deploy again.`)
  if (!found.triggers.webhook) return refuse(`Webhooks start nothing for ${found.url}: its settings do not say so.`)
  return found
}

const OPENS: readonly string[] = ['opened', 'synchronize', 'reopened', 'ready_for_review']

const ofPullRequest = (deployment: Deployment, payload: unknown): Intent => {
  const { action, repository: of, sender, pull_request: pull } = parse(pullRequest, payload)
  const allowed = repositoryIn(deployment, of)
  if (!OPENS.includes(action)) return ignore(`a pull request that was ${oneLine(action, 40)}`)
  if (pull.head.repo?.id !== of.id) return ignore('the pull request comes from a fork: forks are not reviewed')
  if (pull.draft) return ignore('the pull request is a draft')
  const { head, base } = pull
  return { kind: 'start', repository: allowed, branch: head.ref, base: base.ref, head: head.sha, again: false, by: sender.login }
}

/** A check of ours that a person wants again. GitHub offers that to people with write access alone. */
const ofCheck = (deployment: Deployment, about: z.infer<typeof whose>, given: z.infer<typeof check>, branch: string | null): Intent => {
  const allowed = repositoryIn(deployment, about.repository)
  if (about.action !== 'rerequested') return ignore(`a check that was ${oneLine(about.action, 40)}`)
  if (!deployment.github || given.app?.id !== deployment.github.appId) return ignore('the check is not one of ours')
  if (branch === null) return ignore('the check is on no branch of the repository: forks are not reviewed')
  const pull = given.pull_requests.find(({ head }) => head.ref === branch && head.sha === given.head_sha)
  return {
    kind: 'start',
    repository: allowed,
    branch,
    ...(pull ? { base: pull.base.ref } : {}),
    head: given.head_sha,
    again: true,
    by: about.sender.login,
  }
}

const ofComment = (deployment: Deployment, payload: unknown): Intent => {
  const { action, repository: of, sender, issue, comment } = parse(issueComment, payload)
  const allowed = repositoryIn(deployment, of)
  if (action !== 'created') return ignore(`a comment that was ${oneLine(action, 40)}`)
  if (!issue.pull_request) return ignore('a comment on an issue')
  // What a program writes, we among them, is no command, whatever it says.
  if (comment.performed_via_github_app || comment.user.type === 'Bot' || sender.id !== comment.user.id)
    return ignore('a comment of a program')
  return {
    kind: 'comment',
    repository: allowed,
    pull: issue.number,
    text: comment.body,
    by: comment.user.login,
    owns: comment.author_association === 'OWNER',
    at: Date.parse(comment.created_at),
  }
}

/** `event` is the header X-GitHub-Event. Errors: BadRequest, RepositoryNotAllowed. */
export const intentOf = (deployment: Deployment, event: string, payload: unknown): Intent => {
  if (event === 'pull_request') return ofPullRequest(deployment, payload)
  if (event === 'issue_comment') return ofComment(deployment, payload)
  if (event === 'check_run') {
    const { check_run: run, ...about } = parse(checkRun, payload)
    return ofCheck(deployment, about, run, run.check_suite.head_branch)
  }
  if (event === 'check_suite') {
    const { check_suite: suite, ...about } = parse(checkSuite, payload)
    return ofCheck(deployment, about, suite, suite.head_branch)
  }
  return ignore(`the event ${oneLine(event, 40)} asks for nothing`)
}
