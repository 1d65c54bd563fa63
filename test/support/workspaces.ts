/** Short ways to the workspaces adapter, for tests. */
import { policy, type Policy } from '../../lib/loop/policy.ts'
import type { Changeset, FetchedSource, SourceInfo, Work, Workspace } from '../../lib/loop/workspace.ts'
import { gitWorkspaces } from '../../lib/workspace/workspaces.ts'
import type { TestRepository } from './git-repository.ts'

export const limitsOf = (limits: Partial<Policy['limits']> = {}): Policy['limits'] => ({ ...policy.parse({}).limits, ...limits })

const adapter = gitWorkspaces({ token: async () => null })
export const never = (): AbortSignal => new AbortController().signal

export const fetchFrom = (
  repository: string,
  source: { branch?: string | null; base: string; head: string },
  limits: Partial<Policy['limits']> = {},
): Promise<FetchedSource> => adapter.fetch({ repository, branch: null, ...source }, () => limitsOf(limits), never())

export const infoOf = (fetched: FetchedSource): SourceInfo => ({ ...fetched, pack: 'source/r/x.pack' })

export const openFrom = (
  fetched: FetchedSource,
  options: {
    changeset?: Changeset | null
    work?: Work | null
    editable?: boolean
    limits?: Partial<Policy['limits']>
    signal?: AbortSignal
  } = {},
): Promise<Workspace> =>
  adapter.open({
    info: infoOf(fetched),
    pack: fetched.pack,
    changeset: options.changeset ?? null,
    work: options.work ?? null,
    editable: options.editable ?? true,
    limits: limitsOf(options.limits),
    deadline: Date.now() + 60_000,
    signal: options.signal ?? never(),
  })

/** Fetches and opens, and closes after use. */
export const withWorkspace = async <T>(
  repository: TestRepository,
  source: { base: string; head: string },
  use: (workspace: Workspace, fetched: FetchedSource) => Promise<T>,
  options: Parameters<typeof openFrom>[1] = {},
): Promise<T> => {
  const fetched = await fetchFrom(repository.path, source)
  const workspace = await openFrom(fetched, options)
  try {
    return await use(workspace, fetched)
  } finally {
    await workspace.close()
  }
}
