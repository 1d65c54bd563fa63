/** What a payload of GitHub's asks for, over the examples that GitHub's users have published. */
import { describe, expect, it, test } from 'vitest'
import { deployment } from '../../lib/loop/deployment.ts'
import { intentOf } from '../../lib/loop/hook.ts'
import { BASE, HEAD } from '../support/ports.ts'
import { APP_ID, BRANCH, checkOf, commentOf, GITHUB, githubRepository, payloadOf, published, pullRequestOf } from '../support/webhooks.ts'

const deployed = (change: object = {}) =>
  deployment.parse({ repositories: [{ url: GITHUB.url, ...githubRepository, ...change }], github: { appId: APP_ID } })
const intent = (event: string, payload: unknown) => intentOf(deployed(), event, payload)
const ignored = (why: string) => ({ kind: 'ignore', why: expect.stringContaining(why) as string })

describe('a pull request', () => {
  it.each(['opened', 'synchronize', 'reopened', 'ready_for_review'])('that was %s is to be reviewed against its base', (action) => {
    expect(intent('pull_request', pullRequestOf(action))).toMatchObject({
      kind: 'start',
      branch: BRANCH,
      base: 'main',
      head: HEAD,
      again: false,
    })
  })

  it.each(['closed', 'labeled', 'assigned', 'converted_to_draft', 'locked'])('that was %s asks for nothing', (action) => {
    expect(intent('pull_request', pullRequestOf(action))).toEqual(ignored(action))
  })

  it('that is a draft waits until it is ready', () => {
    expect(intent('pull_request', pullRequestOf('opened', { draft: true }))).toEqual(ignored('draft'))
  })

  it.each([
    ['of another repository', { head: { repo: { id: 99 } } }],
    ['of a repository that is gone', { head: { repo: null } }],
  ])('from a branch %s is refused with a clear word', (_whose, change) => {
    expect(intent('pull_request', pullRequestOf('opened', change))).toEqual(ignored('fork'))
  })
})

describe('a check', () => {
  it('that is asked for again is a new attempt, against the base of its pull request', () => {
    expect(intent('check_run', checkOf())).toMatchObject({ kind: 'start', branch: BRANCH, head: HEAD, again: true })
    const pulls = [{ head: { ref: BRANCH, sha: HEAD }, base: { ref: 'release', sha: BASE } }]
    expect(intent('check_run', checkOf({ pull_requests: pulls }))).toMatchObject({ base: 'release' })
  })

  it('of a suite that is asked for again is one as well', () => {
    const { repository, sender, check_run: run } = checkOf() as Record<string, Record<string, unknown>>
    const suite = { ...run, head_branch: BRANCH }
    expect(intent('check_suite', { action: 'rerequested', repository, sender, check_suite: suite })).toMatchObject({
      kind: 'start',
      again: true,
    })
  })

  it('of another App, or on a fork, or that only ended, asks for nothing', () => {
    expect(intent('check_run', checkOf({ app: { id: APP_ID + 1 } }))).toEqual(ignored('not one of ours'))
    expect(intent('check_run', checkOf({ check_suite: { head_branch: null } }))).toEqual(ignored('fork'))
    expect(intent('check_run', { ...checkOf(), action: 'completed' })).toEqual(ignored('completed'))
    const noApp = deployment.parse({ repositories: [{ url: GITHUB.url, ...githubRepository }] })
    expect(intentOf(noApp, 'check_run', checkOf())).toEqual(ignored('not one of ours'))
  })
})

describe('a comment', () => {
  const at = Date.UTC(2026, 0, 5, 9, 0, 0)

  it('on a pull request says who wrote it, what, and when', () => {
    expect(intent('issue_comment', commentOf('/reviewloop run', at))).toMatchObject({
      kind: 'comment',
      pull: 12,
      text: '/reviewloop run',
      by: 'ada',
      owns: false,
      at,
    })
    expect(intent('issue_comment', commentOf('x', at, { author_association: 'OWNER' }))).toMatchObject({ owns: true })
  })

  it.each([
    ['edited afterwards', { ...commentOf('/reviewloop approve', at), action: 'edited' }, 'edited'],
    ['on an issue', { ...commentOf('/reviewloop approve', at), issue: { number: 3 } }, 'issue'],
    ['of a bot', commentOf('/reviewloop approve', at, { user: { id: 5, login: 'x[bot]', type: 'Bot' } }), 'program'],
    ['of an App on behalf of a person', commentOf('/reviewloop approve', at, { performed_via_github_app: { id: 7 } }), 'program'],
    ['that somebody else sent', { ...commentOf('/reviewloop approve', at), sender: { id: 6, login: 'eve' } }, 'program'],
  ])('%s is no command', (_what, payload, why) => {
    expect(intent('issue_comment', payload)).toEqual(ignored(why))
  })
})

describe('a payload', () => {
  const refused = { name: 'RepositoryNotAllowed' }
  const thrown = (act: () => unknown): unknown => {
    try {
      return act()
    } catch (error) {
      return error
    }
  }
  it.each([
    ['of another repository', { id: 1 }],
    ['of another owner, to whom the repository was given', { owner: { id: 1 } }],
    ['of a repository that was renamed', { clone_url: 'https://github.com/Codertocat/New-Name.git' }],
  ])('%s is refused', (_whose, change) => {
    const payload = pullRequestOf()
    const repository = { ...(payload['repository'] as object), ...change }
    expect(thrown(() => intent('pull_request', { ...payload, repository }))).toMatchObject(refused)
  })

  it('of a repository that starts nothing by webhooks is refused, and of one that is on no GitHub', () => {
    expect(thrown(() => intentOf(deployed({ triggers: {} }), 'pull_request', pullRequestOf()))).toMatchObject(refused)
    expect(thrown(() => intentOf(deployed({ forge: { kind: 'git' } }), 'pull_request', pullRequestOf()))).toMatchObject(refused)
  })

  it.each([
    ['no object', 'x'],
    ['nothing', {}],
    ['a head that is no commit', pullRequestOf('opened', { head: { sha: 'HEAD' } })],
    ['a branch without a name', pullRequestOf('opened', { head: { ref: '' } })],
  ])('that holds %s is refused', (_what, payload) => {
    expect(thrown(() => intent('pull_request', payload))).toMatchObject({ name: 'BadRequest' })
  })

  it('of an event that is not known asks for nothing', () => {
    expect(intent('star', { action: 'created' })).toEqual(ignored('star'))
    expect(intent('ping', { zen: 'x' })).toEqual(ignored('ping'))
  })

  const known = published.filter(({ name }) => ['pull_request', 'check_run', 'check_suite', 'issue_comment'].includes(name))
  const examples = known.flatMap(({ name, examples: all }) => all.map((payload, at) => [name, payload['action'], at, payload] as const))
  test.each(examples)('published as an example, %s %s (%i), is understood', (name, _action, _at, payload) => {
    const { repository, ...rest } = structuredClone(payload) as { repository: object }
    const ours = payloadOf('pull_request', 'opened')['repository'] as object
    expect(['start', 'ignore', 'comment']).toContain(intent(name, { ...rest, repository: { ...repository, ...ours } }).kind)
  })
})
