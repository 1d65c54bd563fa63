/** Tokens of CI jobs, really signed, and their issuers on loopback: GitHub's and GitLab's way of publishing keys. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose'
import { type Deployment, deployment } from '../../lib/loop/deployment.ts'

export interface SigningKey {
  kid: string
  privateKey: CryptoKey
  jwk: JWK
}

export const makeKey = async (kid: string): Promise<SigningKey> => {
  const { privateKey, publicKey } = await generateKeyPair('RS256', { extractable: true })
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg: 'RS256', use: 'sig' } }
}

export interface Issuer extends AsyncDisposable {
  /** What the settings call the API of the forge, from which the issuer follows. */
  apiUrl: { github: string; gitlab: string }
  issuer: { github: string; gitlab: string }
  /** The keys that it publishes now. */
  keys: SigningKey[]
  /** Paths that were asked for. */
  asked: string[]
  /** Whether it is there at all. */
  down: boolean
}

export const serveIssuer = async (...keys: SigningKey[]): Promise<Issuer> => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    if (state.down) return void response.writeHead(503).end('later')
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: state.keys.map(({ jwk }) => jwk) }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const state: Issuer = {
    apiUrl: { github: `${origin}/api/v3`, gitlab: `${origin}/api/v4` },
    issuer: { github: `${origin}/_services/token`, gitlab: origin },
    keys,
    asked,
    down: false,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return state
}

export const GITHUB = { url: 'https://git.example/team/project', id: 4711, owner: 42 }
export const GITLAB = { url: 'https://lab.example/group/sub/project', id: 99, namespace: 7 }

/** A deployment of one repository of each forge, which take tokens of their jobs. */
export const ciDeployment = (issuer: Issuer, oidc: object = {}, urls = { github: GITHUB.url, gitlab: GITLAB.url }): Deployment =>
  deployment.parse({
    stage: 'test',
    repositories: [
      {
        url: urls.github,
        forge: { kind: 'github', repositoryId: GITHUB.id, ownerId: GITHUB.owner, apiUrl: issuer.apiUrl.github },
        triggers: { oidc },
      },
      {
        url: urls.gitlab,
        forge: { kind: 'gitlab', projectId: GITLAB.id, namespaceId: GITLAB.namespace, apiUrl: issuer.apiUrl.gitlab },
        triggers: { oidc },
      },
      { url: 'https://git.example/other/project' },
      { url: 'https://git.example/uploaded', forge: { kind: 'bundle' } },
    ],
  })

/** As GitHub writes them: ids are text. */
export const githubClaims = (change: object = {}): Record<string, unknown> => ({
  sub: 'repo:team/project:ref:refs/heads/topic',
  repository: 'team/project',
  repository_id: String(GITHUB.id),
  repository_owner: 'team',
  repository_owner_id: String(GITHUB.owner),
  event_name: 'push',
  ref: 'refs/heads/topic',
  ref_type: 'branch',
  sha: 'a'.repeat(40),
  head_ref: '',
  base_ref: '',
  workflow_ref: 'team/project/.github/workflows/review.yml@refs/heads/topic',
  job_workflow_ref: 'team/project/.github/workflows/review.yml@refs/heads/topic',
  run_id: '123456',
  ...change,
})

/** The claims of a job of a pull request from `topic` to `main`. */
export const ofPullRequest = (change: object = {}): Record<string, unknown> =>
  githubClaims({ event_name: 'pull_request', ref: 'refs/pull/3/merge', head_ref: 'topic', base_ref: 'main', ...change })

export const gitlabClaims = (change: object = {}): Record<string, unknown> => ({
  sub: 'project_path:group/sub/project:ref_type:branch:ref:topic',
  project_id: String(GITLAB.id),
  project_path: 'group/sub/project',
  namespace_id: String(GITLAB.namespace),
  namespace_path: 'group/sub',
  ref: 'topic',
  ref_type: 'branch',
  ref_protected: 'false',
  pipeline_source: 'push',
  pipeline_id: '55',
  ci_config_ref_uri: 'lab.example/group/sub/project//.gitlab-ci.yml@refs/heads/topic',
  sha: 'a'.repeat(40),
  ...change,
})

export interface TokenChange {
  issuer?: string
  audience?: string
  /** Seconds since 1970. */
  at?: number
  notBefore?: number
  expires?: number
  kid?: string
  key?: SigningKey
}

export const signToken = (
  issuer: Issuer,
  kind: 'github' | 'gitlab',
  claims: Record<string, unknown>,
  change: TokenChange = {},
): Promise<string> => {
  const key = change.key ?? issuer.keys[0]
  if (!key) throw new Error('the issuer has no key')
  const at = change.at ?? Math.floor(Date.now() / 1000)
  return new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', kid: change.kid ?? key.kid })
    .setIssuer(change.issuer ?? issuer.issuer[kind])
    .setAudience(change.audience ?? 'reviewloop')
    .setIssuedAt(at)
    .setNotBefore(change.notBefore ?? at)
    .setExpirationTime(change.expires ?? at + 300)
    .sign(key.privateKey)
}
