/** The forges of a deployment: who pushes where, and who is told what, by the facts of each repository. */
import type { Deployment } from '../loop/deployment.ts'
import type { Forge } from '../loop/ports.ts'
import type { Teller } from '../loop/telling.ts'
import type { TokenSource } from '../workspace/address.ts'
import type { ApiOptions } from './api-client.ts'
import { gitForge } from './git-forge.ts'
import { githubForge } from './github/forge.ts'
import { githubTeller } from './github/teller.ts'
import { gitlabTeller } from './gitlab.ts'

export interface ForgeSecrets {
  /** For git over https, where no App is there for it; and for GitLab's API. */
  gitToken: TokenSource
  /** Private key of the GitHub App, PEM. */
  githubKey: TokenSource
}

type Options = Pick<ApiOptions, 'sleep' | 'timeout'> & { folder?: string }

/** `teller` is null where no repository's forge can be told anything. Without an App, GitHub is a git server like any other. */
export const deployedForges = (
  deployment: Deployment,
  { gitToken, githubKey }: ForgeSecrets,
  { folder, ...api }: Options = {},
): { forge: Forge; teller: Teller | null } => {
  const git = gitForge({ token: gitToken, ...(folder === undefined ? {} : { folder }) })
  const app = deployment.github && { ...api, appId: deployment.github.appId, key: githubKey }
  const has = (kind: string) => deployment.repositories.some(({ forge }) => forge.kind === kind)
  const tellers = [
    ...(app && has('github') ? [githubTeller(deployment, app)] : []),
    ...(has('gitlab') ? [gitlabTeller(deployment, gitToken, api)] : []),
  ]
  return { forge: app ? githubForge(deployment, app, git, folder) : git, teller: tellers.length ? oneOf(tellers) : null }
}

const oneOf = (tellers: readonly Teller[]): Teller => {
  const of = (repository: string) => tellers.find((teller) => teller.tells(repository))
  return {
    tells: (repository) => of(repository) !== undefined,
    tell: async (news, board, signal) => of(news.request.repository)?.tell(news, board, signal),
  }
}
