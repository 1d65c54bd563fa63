/** What the mock of GitHub holds, and what each operation does to it. Answers are the description's own examples, filled in. */
import { gunzipSync } from 'node:zlib'
import { exampleOf } from './description.ts'

type Json = Record<string, unknown>

export const APP = { id: 7, slug: 'reviewloop-test' }
export const OWNER = 'team'
export const REPO = 'project'
export const REPOSITORY_ID = 4711

const example = (name: string): Json => {
  const found = exampleOf(name)
  return Array.isArray(found) ? (found[0] as Json) : found
}

export const BOT = { ...(example('issue-comment')['user'] as Json), login: `${APP.slug}[bot]`, type: 'Bot', id: 99 }
export const PERSON = { ...BOT, login: 'octocat', type: 'User', id: 1 }
const INTEGRATION = { ...(example('check-run') as { app: Json }).app, id: APP.id, slug: APP.slug }

export interface CheckRun extends Json {
  id: number
  head_sha: string
  external_id: string
  status: string
  conclusion: string | null
  annotations: Json[]
}
export interface Comment extends Json {
  id: number
  issue: number
  body: string
  user: Json
}
export interface Pull extends Json {
  number: number
  title: string
  body: string | null
  state: string
  user: Json
  head: { ref: string; sha: string; repo: { id: number } | null }
  base: { ref: string }
}
export interface Review extends Json {
  id: number
  pull: number
  body: string
  user: Json
  commit_id: string
  comments: { path: string; line: number; start_line?: number; body: string }[]
}

export interface Answer {
  status: number
  body: unknown
  headers?: Record<string, string>
}
export interface Asked {
  route: string
  path: Record<string, string>
  query: Record<string, string>
  body: Json
}

export class GithubState {
  permissions: Record<string, string> = {
    checks: 'write',
    contents: 'write',
    pull_requests: 'write',
    security_events: 'write',
    metadata: 'read',
  }
  readonly checks: CheckRun[] = []
  readonly comments: Comment[] = []
  readonly pulls: Pull[] = []
  readonly reviews: Review[] = []
  /** By tool, category, ref and commit: the same once more takes the place of the one before. */
  readonly scans = new Map<string, Json>()
  readonly branches = new Map<string, { sha: string; protected: boolean }>()
  /** Lines that a comment may stand on, by path; null: every line. */
  lines: Map<string, Set<number>> | null = null
  installed = true
  #ids = 1000

  /** A test may ask a real repository instead. */
  branchOf(name: string): { sha: string; protected: boolean } | undefined {
    return this.branches.get(name)
  }

  nextId(): number {
    return ++this.#ids
  }

  addPull(change: { head: string; sha: string; base?: string; repositoryId?: number; body?: string; user?: Json }): Pull {
    const pull = {
      ...example('pull-request'),
      id: this.nextId(),
      number: this.pulls.length + 1,
      title: 'A change',
      body: change.body ?? null,
      state: 'open',
      user: change.user ?? PERSON,
      // The description's own example does not fit its schema.
      requested_teams: [],
      html_url: `https://github.example/pull/${this.pulls.length + 1}`,
    } as unknown as Pull
    const { head, base } = example('pull-request') as unknown as { head: Json; base: Json }
    pull.head = {
      ...head,
      ref: change.head,
      sha: change.sha,
      repo: { ...(head['repo'] as Json), id: change.repositoryId ?? REPOSITORY_ID },
    }
    pull.base = { ...base, ref: change.base ?? 'main' }
    this.pulls.push(pull)
    return pull
  }

  addComment(issue: number, body: string, user: Json = PERSON): Comment {
    const id = this.nextId()
    const comment: Comment = { ...example('issue-comment'), id, issue, body, user, html_url: `https://github.example/c/${id}` }
    this.comments.push(comment)
    return comment
  }

  addReview(pull: number, body: string, user: Json = PERSON): Review {
    const review: Review = {
      ...example('pull-request-review'),
      id: this.nextId(),
      pull,
      body,
      user,
      commit_id: 'f'.repeat(40),
      comments: [],
    }
    this.reviews.push(review)
    return review
  }

  addCheck(change: Pick<CheckRun, 'head_sha'> & Partial<CheckRun>): CheckRun {
    const id = this.nextId()
    const check = {
      ...example('check-run'),
      id,
      app: INTEGRATION,
      html_url: `https://github.example/check/${id}`,
      conclusion: null,
      completed_at: null,
      external_id: '',
      status: 'queued',
      pull_requests: [],
      annotations: [],
      output: { title: null, summary: null, text: null, annotations_count: 0, annotations_url: 'https://github.example/annotations' },
      ...change,
    } as CheckRun
    this.checks.push(check)
    return check
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const notFound = (): Answer => ({
  status: 404,
  body: { message: 'Not Found', documentation_url: 'https://docs.github.com', status: '404' },
})
export const invalid = (message: string): Answer => ({
  status: 422,
  body: { message, documentation_url: 'https://docs.github.com', errors: [] },
})

/** The check as GitHub shows it: what was annotated is only counted. */
const shown = ({ annotations, ...check }: CheckRun): Json => ({
  ...check,
  output: { ...(check['output'] as Json), annotations_count: annotations.length },
})

const mend = (check: CheckRun, body: Json): Answer => {
  const { output, conclusion, status, ...rest } = body as { output?: Json & { annotations?: Json[] }; conclusion?: string; status?: string }
  const { annotations = [], ...texts } = output ?? {}
  if (annotations.length > 50) return invalid('annotations: at most 50')
  if (textOf(texts['summary']).length > 65_535) return invalid('summary: too long')
  for (const key of ['owner', 'repo', 'name', 'head_sha', 'external_id', 'started_at', 'details_url'])
    if (rest[key as never] !== undefined) check[key] = rest[key as never]
  check['output'] = { ...(check['output'] as Json), ...texts }
  check.annotations.push(...annotations)
  if (conclusion) Object.assign(check, { conclusion, status: 'completed', completed_at: '2026-01-05T09:30:00Z' })
  else if (status) Object.assign(check, { status, conclusion: null })
  return { status: 200, body: shown(check) }
}

const page = (
  all: readonly unknown[],
  { per_page = '30', page: number = '1' }: Record<string, string>,
  wrap = (some: unknown[]): unknown => some,
): Answer => {
  const size = Math.min(100, Number(per_page))
  const from = (Number(number) - 1) * size
  const more = all.length > from + size
  return {
    status: 200,
    body: wrap(all.slice(from, from + size)),
    ...(more ? { headers: { link: `<https://api.github.example/next>; rel="next", <https://api.github.example/last>; rel="last"` } } : {}),
  }
}

type Handler = (state: GithubState, asked: Asked) => Answer

const review: Handler = (state, { path, body }) => {
  const pull = Number(path['pull_number'])
  const comments = (body['comments'] ?? []) as Review['comments']
  const stray = comments.find(({ path: file, line, start_line = line }) => {
    const lines = state.lines?.get(file)
    return state.lines && (!lines?.has(line) || !lines.has(start_line))
  })
  if (stray) return invalid(`Pull request review thread line must be part of the diff: ${stray.path}:${stray.line}`)
  const made = state.addReview(pull, String(body['body']), BOT)
  Object.assign(made, { commit_id: body['commit_id'], comments, state: 'COMMENTED' })
  return { status: 200, body: withoutOwn(made) }
}

const withoutOwn = ({ issue: _issue, pull: _pull, comments, ...rest }: Json): Json =>
  Array.isArray(comments) ? rest : { ...rest, ...(comments === undefined ? {} : { comments }) }

const openPull: Handler = (state, { body }) => {
  const [head, base] = [String(body['head']), String(body['base'])]
  const branch = state.branchOf(head)
  if (!branch) return invalid(`Validation Failed: head ${head}`)
  if (state.pulls.some((pull) => pull.state === 'open' && pull.head.ref === head && pull.base.ref === base))
    return invalid(`A pull request already exists for ${OWNER}:${head}.`)
  const pull = state.addPull({ head, sha: branch.sha, base, body: textOf(body['body']), user: BOT })
  pull.title = String(body['title'])
  return { status: 201, body: pull }
}

const upload: Handler = (state, { body }) => {
  const log = JSON.parse(gunzipSync(Buffer.from(String(body['sarif']), 'base64')).toString()) as {
    runs: { automationDetails: { id: string } }[]
  }
  const [category = ''] = (log.runs[0]?.automationDetails.id ?? '').split('/')
  state.scans.set([body['tool_name'], category, body['ref'], body['commit_sha']].join(' '), log)
  return {
    status: 202,
    body: { id: '47177e22-5596-11eb-80a1-c1e54ef945c6', url: 'https://api.github.com/repos/o/r/code-scanning/sarifs/47177e22' },
  }
}

const checkOf = (state: GithubState, { path }: Asked): CheckRun | undefined =>
  state.checks.find(({ id }) => id === Number(path['check_run_id']))
const pullOf = (state: GithubState, { path }: Asked): Pull | undefined =>
  state.pulls.find(({ number }) => number === Number(path['pull_number']))
const commentOf = (state: GithubState, { path }: Asked): Comment | undefined =>
  state.comments.find(({ id }) => id === Number(path['comment_id']))

/** What each route does, and the permission that its token has to have. */
export const ROUTES: Record<string, { needs: [string, 'read' | 'write'] | null; handle: Handler }> = {
  'GET /repos/{owner}/{repo}/commits/{ref}/check-runs': {
    needs: ['checks', 'read'],
    handle: (state, { path, query }) => {
      const found = state.checks.filter(
        (check) =>
          check.head_sha === path['ref'] &&
          check['name'] === query['check_name'] &&
          String((check['app'] as Json)['id']) === query['app_id'],
      )
      return page(found.map(shown), query, (check_runs) => ({ total_count: found.length, check_runs }))
    },
  },
  'POST /repos/{owner}/{repo}/check-runs': {
    needs: ['checks', 'write'],
    handle: (state, { body }) => {
      const check = state.addCheck({ head_sha: String(body['head_sha']) })
      return { ...mend(check, body), status: 201 }
    },
  },
  'GET /repos/{owner}/{repo}/check-runs/{check_run_id}': {
    needs: ['checks', 'read'],
    handle: (state, asked) => {
      const check = checkOf(state, asked)
      return check ? { status: 200, body: shown(check) } : notFound()
    },
  },
  'PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}': {
    needs: ['checks', 'write'],
    handle: (state, asked) => {
      const check = checkOf(state, asked)
      return check ? mend(check, asked.body) : notFound()
    },
  },
  'GET /repos/{owner}/{repo}/issues/{issue_number}/comments': {
    needs: ['pull_requests', 'read'],
    handle: (state, { path, query }) =>
      page(state.comments.filter(({ issue }) => issue === Number(path['issue_number'])).map(withoutOwn), query),
  },
  'POST /repos/{owner}/{repo}/issues/{issue_number}/comments': {
    needs: ['pull_requests', 'write'],
    handle: (state, { path, body }) => {
      if (String(body['body']).length > 65_536) return invalid('body is too long')
      return { status: 201, body: withoutOwn(state.addComment(Number(path['issue_number']), String(body['body']), BOT)) }
    },
  },
  'GET /repos/{owner}/{repo}/issues/comments/{comment_id}': {
    needs: ['pull_requests', 'read'],
    handle: (state, asked) => {
      const comment = commentOf(state, asked)
      return comment ? { status: 200, body: withoutOwn(comment) } : notFound()
    },
  },
  'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}': {
    needs: ['pull_requests', 'write'],
    handle: (state, asked) => {
      const comment = commentOf(state, asked)
      if (!comment) return notFound()
      comment.body = String(asked.body['body'])
      return { status: 200, body: withoutOwn(comment) }
    },
  },
  'GET /repos/{owner}/{repo}/pulls': {
    needs: ['pull_requests', 'read'],
    handle: (state, { query }) => {
      const found = state.pulls.filter(
        ({ state: now, head, base }) =>
          now === 'open' && (!query['head'] || `${OWNER}:${head.ref}` === query['head']) && (!query['base'] || base.ref === query['base']),
      )
      const simple = example('pull-request-simple')
      return page(
        found.map((pull) => ({
          ...simple,
          ...Object.fromEntries(Object.keys(simple).flatMap((key) => (key in pull ? [[key, pull[key]]] : []))),
        })),
        query,
      )
    },
  },
  'POST /repos/{owner}/{repo}/pulls': { needs: ['pull_requests', 'write'], handle: openPull },
  'GET /repos/{owner}/{repo}/pulls/{pull_number}': {
    needs: ['pull_requests', 'read'],
    handle: (state, asked) => {
      const pull = pullOf(state, asked)
      return pull ? { status: 200, body: pull } : notFound()
    },
  },
  'PATCH /repos/{owner}/{repo}/pulls/{pull_number}': {
    needs: ['pull_requests', 'write'],
    handle: (state, asked) => {
      const pull = pullOf(state, asked)
      if (!pull) return notFound()
      Object.assign(pull, asked.body)
      return { status: 200, body: pull }
    },
  },
  'GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews': {
    needs: ['pull_requests', 'read'],
    handle: (state, { path, query }) =>
      page(state.reviews.filter(({ pull }) => pull === Number(path['pull_number'])).map(withoutOwn), query),
  },
  'POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews': { needs: ['pull_requests', 'write'], handle: review },
  'POST /repos/{owner}/{repo}/code-scanning/sarifs': { needs: ['security_events', 'write'], handle: upload },
  'GET /repos/{owner}/{repo}/branches/{branch}': {
    needs: ['contents', 'read'],
    handle: (state, { path }) => {
      const branch = state.branchOf(path['branch'] ?? '')
      return branch ? { status: 200, body: { ...example('branch-get'), name: path['branch'], protected: branch.protected } } : notFound()
    },
  },
}
