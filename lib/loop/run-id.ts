/** Ids that are hashes: the same thing asked for twice has the same id, and nothing can be read out of it. */
import { createHash } from 'node:crypto'
import type { RunRequest } from './run.ts'

const sha256 = (text: string): string => createHash('sha256').update(text, 'utf8').digest('hex')

/** JSON with the keys of every object in order, and absent values left out: equal data, equal text. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )

/**
 * One spelling for one repository: host in lower case, no default port, no credential, query or fragment, no trailing slash, no
 * `.git`. A path loses its trailing slashes only: `x.git` and `x` are two folders.
 */
export const normaliseRepository = (repository: string): string => {
  if (!/^https?:\/\//i.test(repository) || !URL.canParse(repository)) return repository.replace(/(?<=[^/\\])[/\\]+$/, '')
  const { protocol, host, pathname } = new URL(repository)
  const path = pathname.replace(/\/+$/, '').replace(/\.git$/, '')
  return `${protocol}//${host}${path}`
}

/** `r-` and 16 hex digits, of everything that makes a request another one; `agents` are those of the deployment. */
export const runIdOf = (request: RunRequest, agents: unknown): string =>
  `r-${sha256(canonical({ ...request, repository: normaliseRepository(request.repository), agents })).slice(0, 16)}`

/** Key of the branch item; for a run of a bare commit the head stands for the branch. */
export const branchKeyOf = (repository: string, branchOrHead: string): string =>
  `branch#${sha256(canonical([normaliseRepository(repository), branchOrHead])).slice(0, 32)}`

/** Scope of a repository's own budgets. */
export const repositoryScope = (repository: string): string => sha256(normaliseRepository(repository)).slice(0, 32)

/** 12 hex digits that tell sessions apart where their ids may not be shown. */
export const fingerprint = (sessionId: string): string => sha256(sessionId).slice(0, 12)
