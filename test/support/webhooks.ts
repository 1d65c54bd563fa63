/** Deliveries as GitHub makes them: published examples of its payloads, with what a test is about put in. */
import { createHmac, randomUUID } from 'node:crypto'
import { createRequire } from 'node:module'
import type { PullRequest, PullRequests } from '../../lib/loop/pulls.ts'
import { WEBHOOK_PATH } from '../../lib/names.ts'
import { HEAD } from './ports.ts'

interface Examples {
  name: string
  examples: Record<string, unknown>[]
}
const require = createRequire(import.meta.url)
export const published = require('@octokit/webhooks-examples') as Examples[]

export const HOOK_SECRET_TEXT = 'a-secret-of-the-webhooks-of-a-test'
export const APP_ID = 7
/** As the examples have it. */
export const GITHUB = {
  url: 'https://github.com/Codertocat/Hello-World.git',
  repositoryId: 186_853_002,
  ownerId: 21_031_067,
}
export const BRANCH = 'changes'

/** Settings of the repository of the examples, for `deploymentOf`. */
export const githubRepository = {
  forge: { kind: 'github', repositoryId: GITHUB.repositoryId, ownerId: GITHUB.ownerId },
  triggers: { webhook: true },
}

type Json = Record<string, unknown>
const isJson = (value: unknown): value is Json => value !== null && typeof value === 'object' && !Array.isArray(value)
const merge = (base: unknown, change: unknown): unknown => {
  if (!isJson(base) || !isJson(change)) return change
  return { ...base, ...Object.fromEntries(Object.entries(change).map(([key, value]) => [key, merge(base[key], value)])) }
}

/** The first published example of the event and action, with `change` over it. */
export const payloadOf = (event: string, action: string, change: Json = {}): Json => {
  const found = published.find(({ name }) => name === event)?.examples.find((example) => example['action'] === action)
  if (!found) throw new Error(`no published example of ${event} ${action}`)
  return merge(structuredClone(found), change) as Json
}

const repository = { id: GITHUB.repositoryId, clone_url: GITHUB.url, owner: { id: GITHUB.ownerId } }

export const pullRequestOf = (action = 'opened', change: Json = {}): Json =>
  merge(
    payloadOf('pull_request', action, {
      repository,
      pull_request: { head: { sha: HEAD, ref: BRANCH }, base: { ref: 'main' }, draft: false },
    }),
    { pull_request: change },
  ) as Json

export const checkOf = (change: Json = {}): Json =>
  merge(
    payloadOf('check_run', 'rerequested', {
      repository,
      check_run: { head_sha: HEAD, app: { id: APP_ID }, check_suite: { head_branch: BRANCH } },
    }),
    {
      check_run: change,
    },
  ) as Json

/** `at`: when it was written, ms since 1970. */
export const commentOf = (body: string, at: number, change: Json = {}): Json => {
  const user = { id: 5, login: 'ada', type: 'User' }
  return merge(payloadOf('issue_comment', 'created'), {
    repository,
    sender: user,
    issue: { number: 12, pull_request: { url: 'https://api.github.com/repos/Codertocat/Hello-World/pulls/12' } },
    comment: {
      body,
      user,
      created_at: new Date(at).toISOString().replace(/\.\d+Z$/, 'Z'),
      author_association: 'MEMBER',
      performed_via_github_app: null,
      ...change,
    },
  }) as Json
}

export const signatureOf = (body: string | Uint8Array, secret = HOOK_SECRET_TEXT): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`

/** As the HTTP API hands a delivery on; `change` over its headers. */
export const deliveryOf = (event: string, payload: unknown, change: Record<string, string> = {}): Json => {
  const body = typeof payload === 'string' ? payload : JSON.stringify(payload)
  return {
    routeKey: `POST ${WEBHOOK_PATH}`,
    requestContext: {},
    headers: {
      'x-github-event': event,
      'x-github-delivery': randomUUID(),
      'x-hub-signature-256': signatureOf(body),
      'content-type': 'application/json',
      ...change,
    },
    body,
    isBase64Encoded: false,
  }
}

/** What GitHub answers about pull requests and people: all may write but `eve`. */
export class FakePulls implements PullRequests {
  pr: PullRequest | null = { branch: BRANCH, base: 'main', open: true, fork: false }
  asked = 0
  pull = async (): Promise<PullRequest | null> => {
    this.asked++
    return this.pr
  }
  mayWrite = async (_repository: unknown, login: string): Promise<boolean> => {
    this.asked++
    return login !== 'eve'
  }
}
