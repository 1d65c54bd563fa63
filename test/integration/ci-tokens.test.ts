/** Tokens of CI jobs: really signed, against keys that an issuer on loopback publishes. What is not exactly right is refused. */
import { createHmac, randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ciJob, type CiJob } from '../../lib/loop/ci-claims.ts'
import type { Deployment } from '../../lib/loop/deployment.ts'
import { verifyTokens } from '../../lib/runtime/oidc.ts'
import {
  ciDeployment,
  githubClaims,
  GITHUB,
  gitlabClaims,
  type Issuer,
  makeKey,
  ofPullRequest,
  serveIssuer,
  signToken,
  type SigningKey,
  type TokenChange,
} from '../support/ci-tokens.ts'

let issuer: Issuer
let first: SigningKey
let second: SigningKey
let stranger: SigningKey
let deployment: Deployment
beforeAll(async () => {
  ;[first, second, stranger] = (await Promise.all(['one', 'two', 'one'].map(makeKey))) as [SigningKey, SigningKey, SigningKey]
  issuer = await serveIssuer(first)
  deployment = ciDeployment(issuer)
})
afterAll(() => issuer[Symbol.asyncDispose]())
beforeEach(() => {
  issuer.keys = [first]
  issuer.down = false
  issuer.asked.length = 0
})

type Kind = 'github' | 'gitlab'
const now = (): number => Math.floor(Date.now() / 1000)
const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const believed = async (kind: Kind, token: string, of: Deployment = deployment): Promise<CiJob> => {
  const { issuer: signer, claims } = await verifyTokens(of)(kind, token)
  return ciJob(of, kind, signer, claims)
}
const job = async (kind: Kind, claims: Record<string, unknown>, change: TokenChange = {}, of?: Deployment): Promise<CiJob> =>
  believed(kind, await signToken(issuer, kind, claims, change), of)

describe('a job that is believed', () => {
  test('of a push: its branch, and no other', async () => {
    expect(await job('github', githubClaims())).toMatchObject({
      repository: { url: GITHUB.url },
      name: 'github:team/project/actions/runs/123456',
      branch: 'topic',
      base: null,
      bound: true,
      mayBeForeign: false,
    })
  })

  test('of a pull request: its source branch against the one it is to go to', async () => {
    expect(await job('github', ofPullRequest())).toMatchObject({ branch: 'topic', base: 'main', bound: true, mayBeForeign: true })
  })

  test('started by hand: any branch of the repository', async () => {
    expect(await job('github', githubClaims({ event_name: 'workflow_dispatch', ref: 'refs/heads/main' }))).toMatchObject({
      branch: 'main',
      bound: false,
    })
  })

  test('of GitLab', async () => {
    expect(await job('gitlab', gitlabClaims())).toMatchObject({ branch: 'topic', bound: true, mayBeForeign: false })
    expect(await job('gitlab', gitlabClaims({ pipeline_source: 'merge_request_event' }))).toMatchObject({ bound: true, mayBeForeign: true })
    expect(await job('gitlab', gitlabClaims({ pipeline_source: 'web' }))).toMatchObject({ bound: false })
  })

  test('names are compared as forges do: whatever their case', async () => {
    expect(await job('github', githubClaims({ repository: 'Team/Project' }))).toMatchObject({ repository: { url: GITHUB.url } })
  })

  test('within half a minute of its times, for clocks differ', async () => {
    for (const times of [
      { notBefore: now() + 20, at: now() + 20 },
      { at: now() - 320, expires: now() - 20 },
    ])
      expect(await job('github', githubClaims(), times)).toMatchObject({ branch: 'topic' })
  })
})

/** How a token comes to be, and why it is not believed. */
const UNPROVEN: [what: string, token: () => Promise<string> | string, why: RegExp][] = [
  ['for another audience', () => signToken(issuer, 'github', githubClaims(), { audience: 'sts.amazonaws.com' }), /claim aud/],
  ['expired', () => signToken(issuer, 'github', githubClaims(), { at: now() - 700, expires: now() - 120 }), /expired/],
  ['not yet valid', () => signToken(issuer, 'github', githubClaims(), { notBefore: now() + 300 }), /claim nbf/],
  [
    'of another issuer',
    () => signToken(issuer, 'github', githubClaims(), { issuer: 'https://token.actions.githubusercontent.com' }),
    /issuer/,
  ],
  [
    'of an issuer beside the known one',
    () => signToken(issuer, 'github', githubClaims(), { issuer: `${issuer.issuer.github}/other` }),
    /issuer/,
  ],
  ['of the other forge', () => signToken(issuer, 'gitlab', githubClaims()), /issuer/],
  [
    'signed by a stranger under a known key id',
    () => signToken(issuer, 'github', githubClaims(), { key: stranger }),
    /no key of its issuer/,
  ],
  ['under a key id that nobody knows', () => signToken(issuer, 'github', githubClaims(), { kid: 'three' }), /no key of its issuer/],
  ['under alg none', () => withoutSignature(), /another algorithm|no token of a CI/],
  ['under HS256 with the public key as secret', () => confused(), /another algorithm/],
  ['with a claim altered', async () => altered(await signToken(issuer, 'github', ofPullRequest())), /no key of its issuer/],
  ['without an end', () => endless(), /claim exp|no key/],
  ['no token', () => 'abc', /no JSON web token/],
  ['three dots', () => 'a.b.c', /no JSON web token/],
]

const body = (): object => ({ ...githubClaims(), iss: issuer.issuer.github, aud: 'reviewloop', iat: now(), nbf: now(), exp: now() + 300 })
const withoutSignature = (): string => `${part({ alg: 'none', typ: 'JWT', kid: 'one' })}.${part(body())}.`
const confused = (): string => {
  const signed = `${part({ alg: 'HS256', typ: 'JWT', kid: 'one' })}.${part(body())}`
  return `${signed}.${createHmac('sha256', JSON.stringify(first.jwk)).update(signed).digest('base64url')}`
}
const altered = (token: string): string => {
  const [header, , signature] = token.split('.')
  return `${header}.${part({ ...body(), repository_id: '1' })}.${signature}`
}
const endless = async (): Promise<string> => {
  const { SignJWT } = await import('jose')
  return new SignJWT(githubClaims())
    .setProtectedHeader({ alg: 'RS256', kid: 'one' })
    .setIssuer(issuer.issuer.github)
    .setAudience('reviewloop')
    .setIssuedAt()
    .sign(first.privateKey)
}

describe('a token that proves nothing', () => {
  test.each(UNPROVEN)('%s', async (_what, token, why) => {
    await expect(believed('github', await token())).rejects.toMatchObject({
      name: 'NotAuthenticated',
      message: expect.stringMatching(why) as string,
    })
  })
})

/** Claims of a token that is in order and yet not this deployment's to serve. */
const REFUSED: [what: string, kind: Kind, claims: Record<string, unknown>, why: RegExp][] = [
  ['another repository', 'github', githubClaims({ repository: 'team/other', repository_id: '4712' }), /no repository of this deployment/],
  ['a fork', 'github', githubClaims({ repository: 'mallory/project', repository_id: '9', repository_owner_id: '10' }), /no repository/],
  ['a repository of the same name under another id', 'github', githubClaims({ repository_id: '4712' }), /no repository/],
  ['a repository that was renamed', 'github', githubClaims({ repository: 'team/renamed' }), /called "team\/renamed" now/],
  ['a repository that was given away', 'github', githubClaims({ repository_owner_id: '43' }), /another owner/],
  ['pull_request_target', 'github', ofPullRequest({ event_name: 'pull_request_target', ref: 'refs/heads/main' }), /from a fork/],
  ['workflow_run', 'github', githubClaims({ event_name: 'workflow_run' }), /from a fork/],
  ['an event that is not allowed', 'github', githubClaims({ event_name: 'schedule' }), /the event "schedule"/],
  ['a ref that is not allowed', 'github', githubClaims({ ref: 'refs/tags/v1' }), /the ref "refs\/tags\/v1"/],
  ['a pull request without its branches', 'github', ofPullRequest({ head_ref: '' }), /head_ref/],
  ['no repository id', 'github', githubClaims({ repository_id: undefined }), /repository_id/],
  ['an id that is none', 'github', githubClaims({ repository_id: '4711 ' }), /repository_id/],
  ['another project', 'gitlab', gitlabClaims({ project_id: '100' }), /no repository/],
  [
    'a fork of the project',
    'gitlab',
    gitlabClaims({ project_id: '100', project_path: 'mallory/project', namespace_id: '8' }),
    /no repository/,
  ],
  ['a project that was moved', 'gitlab', gitlabClaims({ project_path: 'group/project' }), /called "group\/project" now/],
  ['a project of another namespace', 'gitlab', gitlabClaims({ namespace_id: '8' }), /another namespace/],
  ['a tag', 'gitlab', gitlabClaims({ ref_type: 'tag', ref: 'v1' }), /not a branch/],
  ['a source that is not allowed', 'gitlab', gitlabClaims({ pipeline_source: 'trigger' }), /the event "trigger"/],
  ['a pull request of elsewhere', 'gitlab', gitlabClaims({ pipeline_source: 'external_pull_request_event' }), /from a fork/],
]

describe('a job that may not', () => {
  test.each(REFUSED)('%s (%s)', async (_what, kind, claims, why) => {
    await expect(job(kind, claims)).rejects.toMatchObject({ name: 'CallerRefused', message: expect.stringMatching(why) as string })
  })

  test('a repository that takes no tokens', async () => {
    const none = ciDeployment(issuer)
    delete none.repositories[0]?.triggers.oidc
    // No repository of the forge takes any: its issuer is not even asked.
    await expect(job('github', githubClaims(), {}, none)).rejects.toMatchObject({ name: 'NotAuthenticated' })
    expect(issuer.asked).toEqual([])
  })

  test('no setting lets a job in that runs on the change of a fork', async () => {
    const lax = ciDeployment(issuer, { events: ['pull_request_target', 'workflow_run', 'push'] })
    await expect(job('github', ofPullRequest({ event_name: 'pull_request_target' }), {}, lax)).rejects.toMatchObject({
      name: 'CallerRefused',
    })
  })
})

describe('workflows', () => {
  const strict = () => ciDeployment(issuer, { workflows: ['team/project/.github/workflows/review.yml', '.gitlab-ci.yml'] })
  test('the one that is named, whatever the commit it stands on', async () => {
    expect(await job('github', githubClaims(), {}, strict())).toMatchObject({ branch: 'topic' })
    expect(await job('gitlab', gitlabClaims(), {}, strict())).toMatchObject({ branch: 'topic' })
  })
  test.each([
    ['another file', 'github', githubClaims({ workflow_ref: 'team/project/.github/workflows/other.yml@refs/heads/topic' })],
    ['one that calls the named one', 'github', githubClaims({ workflow_ref: 'team/project/.github/workflows/evil.yml@refs/heads/x' })],
    ['the named one, which calls another', 'github', githubClaims({ job_workflow_ref: 'mallory/x/.github/workflows/a.yml@main' })],
    ['another CI file', 'gitlab', gitlabClaims({ ci_config_ref_uri: 'lab.example/group/sub/project//evil.yml@refs/heads/topic' })],
    ['no CI file', 'gitlab', gitlabClaims({ ci_config_ref_uri: undefined })],
  ] as const)('%s is refused', async (_what, kind, claims) => {
    await expect(job(kind, claims, {}, strict())).rejects.toMatchObject({ name: 'CallerRefused' })
  })
  test('a pattern is text but for its stars', async () => {
    const dotted = ciDeployment(issuer, { refs: ['refs/heads/rel.*'] })
    await job('github', githubClaims({ ref: 'refs/heads/rel.1' }), {}, dotted)
    await expect(job('github', githubClaims({ ref: 'refs/heads/relx1' }), {}, dotted)).rejects.toMatchObject({ name: 'CallerRefused' })
    await expect(job('github', githubClaims({ ref: 'xrefs/heads/rel.1' }), {}, dotted)).rejects.toMatchObject({ name: 'CallerRefused' })
  })
  test('protected branches only, where the settings say so', async () => {
    const guarded = ciDeployment(issuer, { protectedOnly: true })
    await expect(job('gitlab', gitlabClaims(), {}, guarded)).rejects.toMatchObject({ name: 'CallerRefused' })
    await job('gitlab', gitlabClaims({ ref_protected: 'true' }), {}, guarded)
  })
})

describe('keys', () => {
  test('are fetched once for many tokens', async () => {
    const verify = verifyTokens(deployment)
    for (let count = 0; count < 5; count++) await verify('github', await signToken(issuer, 'github', githubClaims({ jti: randomUUID() })))
    expect(issuer.asked).toEqual(['/_services/token/.well-known/jwks'])
  })

  test('of GitLab lie where GitLab puts them', async () => {
    await job('gitlab', gitlabClaims())
    expect(issuer.asked).toEqual(['/oauth/discovery/keys'])
  })

  test('are fetched anew when they were changed', async () => {
    const verify = verifyTokens(deployment, { cooldown: 0 })
    await verify('github', await signToken(issuer, 'github', githubClaims()))
    issuer.keys = [second]
    await verify('github', await signToken(issuer, 'github', githubClaims()))
    expect(issuer.asked.length).toBe(2)
    // The key that was taken back signs nothing any more.
    await expect(verify('github', await signToken(issuer, 'github', githubClaims(), { key: first }))).rejects.toMatchObject({
      name: 'NotAuthenticated',
    })
  })

  test('tokens under unknown keys do not flood the issuer', async () => {
    const verify = verifyTokens(deployment)
    await verify('github', await signToken(issuer, 'github', githubClaims()))
    for (let count = 0; count < 20; count++)
      await expect(verify('github', await signToken(issuer, 'github', githubClaims(), { kid: `x${count}` }))).rejects.toMatchObject({
        name: 'NotAuthenticated',
      })
    expect(issuer.asked.length).toBe(1)
  })

  test('that cannot be had refuse nobody for good: the issuer is to blame', async () => {
    issuer.down = true
    await expect(job('github', githubClaims())).rejects.toMatchObject({ name: 'IssuerUnavailable' })
    await issuer[Symbol.asyncDispose]()
    await expect(job('github', githubClaims())).rejects.toMatchObject({ name: 'IssuerUnavailable' })
    issuer = await serveIssuer(first)
    deployment = ciDeployment(issuer)
  })
})
