/** Tells GitLab how a run stands: the status of the commit that was reviewed, and of the one with the fixes. */
import * as z from 'zod'
import { titleOf } from '../loop/forge-text.ts'
import { type Deployment, repositoryOf } from '../loop/deployment.ts'
import { LoopError } from '../loop/errors.ts'
import { keepSecrets } from '../loop/redact.ts'
import type { News, Piece, Teller, Told } from '../loop/telling.ts'
import type { TokenSource } from '../workspace/address.ts'
import { type ApiClient, apiClient, type ApiOptions, createOnce } from './api-client.ts'

const NAME = 'reviewloop'

const status = z.object({ id: z.int(), status: z.string(), name: z.string(), target_url: z.string().nullish() })
type Status = z.infer<typeof status>

const parsed = <T>(schema: z.ZodType<T>, value: unknown): T => {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw new LoopError('ForgeUnavailable', 'GitLab answered with something that is no commit status')
}

type State = 'pending' | 'running' | 'success' | 'failed' | 'canceled'

const stateOf = ({ phase, report: { outcome } }: News): State => {
  if (phase === 'queued') return 'pending'
  if (outcome === null) return 'running'
  if (outcome === 'approved') return 'success'
  return outcome === 'aborted' || outcome === 'superseded' ? 'canceled' : 'failed'
}

const toldOf = ({ id, target_url }: Status): Told => ({ id: String(id), url: target_url ?? null })

/** GitLab refuses a status that is the one there is: only a change is told, whatever else there is to say. */
const statusPiece = (client: ApiClient, project: number, commit: { sha: string; ref: string | null }, news: News, state: State): Piece => {
  const { sha, ref } = commit
  const find = async (signal: AbortSignal): Promise<Told | null> => {
    const list = await client.call(
      'GET /projects/{project}/repository/commits/{sha}/statuses',
      { project, sha, name: NAME, per_page: 100 },
      { signal },
    )
    const found = parsed(z.array(status), list.data).find((entry) => entry.name === NAME && entry.status === state)
    return found ? toldOf(found) : null
  }
  const post = async (signal: AbortSignal): Promise<Told> => {
    const body = { project, sha, state, name: NAME, description: titleOf(news).slice(0, 255), ...(ref === null ? {} : { ref }) }
    return toldOf(parsed(status, (await client.call('POST /projects/{project}/statuses/{sha}', body, { signal, once: true })).data))
  }
  const create = (signal: AbortSignal) => createOnce(client, signal, { find: () => find(signal), create: () => post(signal) })
  return {
    says: state,
    find,
    create,
    update: async (_id, signal) => void ((await find(signal)) ?? (await create(signal))),
  }
}

/** Repositories of GitLab, by the token that fixes are pushed with, if it may use the API. */
export const gitlabTeller = (deployment: Deployment, token: TokenSource, options: Pick<ApiOptions, 'sleep' | 'timeout'> = {}): Teller => {
  const forgeOf = (repository: string) => {
    const { forge } = repositoryOf(deployment, repository) ?? {}
    return forge?.kind === 'gitlab' ? forge : null
  }
  return {
    tells: (repository) => forgeOf(repository) !== null,
    tell: async (news, board) => {
      const forge = forgeOf(news.request.repository)
      if (!forge) return
      const secret = await token()
      if (!secret) throw new LoopError('ForgeRefused', 'The deployment has no token for GitLab.')
      keepSecrets([secret])
      const { projectId, apiUrl } = forge
      const client = apiClient({ ...options, name: 'GitLab', apiUrl, headers: { 'private-token': secret } })
      const { request, pushed, commit } = news
      const state = stateOf(news)
      // Approved together with fixes that its branch does not have: the head by itself is not.
      const ofHead = state === 'success' && commit !== request.head ? 'failed' : state
      await board.bring('status', statusPiece(client, projectId, { sha: request.head, ref: request.branch }, news, ofHead))
      if (pushed) await board.bring('status-fixes', statusPiece(client, projectId, { sha: pushed.commit, ref: pushed.ref }, news, state))
    },
  }
}
