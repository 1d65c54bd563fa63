/** The GitHub App: a token for one repository, with no more permissions than what is to be done needs. */
import githubAppJwt from 'universal-github-app-jwt'
import { asLoopError, LoopError } from '../../loop/errors.ts'
import { keepSecrets } from '../../loop/redact.ts'
import { type Client, type ClientOptions, githubClient } from './client.ts'

export interface AppOptions extends Pick<ClientOptions, 'sleep' | 'timeout'> {
  appId: number
  /** Private key of the App, PEM, as GitHub gives it out; null where there is none. */
  key: () => Promise<string | null>
}

/** A repository as the deployment names it: by its address, and by the id that stays when it is renamed. */
export interface GithubRepository {
  owner: string
  repo: string
  repositoryId: number
  apiUrl: string
}

export type Permission = 'checks' | 'pull_requests' | 'security_events' | 'contents'
export type Permissions = Partial<Record<Permission, 'read' | 'write'>>

/** What a token was given for. */
export interface Access {
  client: Client
  /** For git. Never shown, never stored. */
  token: string
  /** Those of the permissions asked for that the installation has. */
  granted: Permissions
  app: { id: number; slug: string }
}

const LEVELS = { read: 1, write: 2 } as const

/** `https://host/owner/name`, with or without `.git`. Errors: BadRequest. */
export const nameOf = (url: string): { owner: string; repo: string } => {
  const [, owner, repo] = /^\/([^/]+)\/([^/]+?)(?:\.git)?\/?$/.exec(new URL(url).pathname) ?? []
  if (owner && repo) return { owner: decodeURIComponent(owner), repo: decodeURIComponent(repo) }
  throw new LoopError('BadRequest', `${url} is no repository of GitHub: owner and name are missing.`)
}

const jwtOf = async ({ appId, key }: AppOptions): Promise<string> => {
  const privateKey = (await key())?.trim()
  if (!privateKey) throw new LoopError('ForgeRefused', 'The deployment has no key of the GitHub App.')
  keepSecrets([privateKey])
  try {
    const { token } = await githubAppJwt({ id: appId, privateKey })
    keepSecrets([token])
    return token
  } catch {
    // What the library says could hold a part of the key.
    throw new LoopError('ForgeRefused', 'The secret does not hold the private key of a GitHub App in PEM.')
  }
}

/**
 * A token for this repository alone. Errors: ForgeRefused (no key, the App is not installed there, no permission of those wanted),
 * ForgeInvalid, ForgeThrottled, ForgeUnavailable.
 */
export const openAccess = async (
  options: AppOptions,
  { owner, repo, repositoryId, apiUrl }: GithubRepository,
  wanted: Permissions,
  signal: AbortSignal,
): Promise<Access> => {
  const shared = {
    apiUrl,
    ...(options.sleep && { sleep: options.sleep }),
    ...(options.timeout !== undefined && { timeout: options.timeout }),
  }
  const app = githubClient({ ...shared, token: await jwtOf(options) })
  const installation = await app.call('GET /repos/{owner}/{repo}/installation', { owner, repo }, { signal }).catch((thrown: unknown) => {
    const error = asLoopError(thrown)
    if (error.details['status'] !== 404) throw error
    throw new LoopError('ForgeRefused', `The GitHub App ${options.appId} is not installed for ${owner}/${repo}.`, error.details)
  })
  const has = installation.permissions as Record<string, string | undefined>
  const granted = Object.fromEntries(
    Object.entries(wanted).filter(([name, level]) => (LEVELS[has[name] as keyof typeof LEVELS] ?? 0) >= LEVELS[level]),
  ) as Permissions
  if (!Object.keys(granted).length)
    throw new LoopError('ForgeRefused', `The GitHub App ${options.appId} has no permission ${Object.keys(wanted).join(', ')}.`)
  const { token } = await app.call(
    'POST /app/installations/{installation_id}/access_tokens',
    { installation_id: installation.id, repository_ids: [repositoryId], permissions: granted },
    { signal },
  )
  keepSecrets([token])
  return { client: githubClient({ ...shared, token }), token, granted, app: { id: options.appId, slug: installation.app_slug } }
}

/** Errors: ForgeRefused, naming the permission. */
export const assertGranted = ({ granted, app }: Access, permission: Permission): void => {
  if (!granted[permission]) throw new LoopError('ForgeRefused', `The GitHub App ${app.id} has no permission ${permission}.`)
}
