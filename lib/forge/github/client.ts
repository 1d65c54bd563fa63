/** Requests to GitHub's API, typed by its published description. */
import type { Endpoints } from '@octokit/types'
import { type ApiClient, apiClient, type ApiOptions, type CallOptions } from '../api-client.ts'

export type Route = keyof Endpoints
export type Parameters<R extends Route> = Endpoints[R]['parameters']
export type Data<R extends Route> = Endpoints[R]['response']['data']

export interface ClientOptions extends Pick<ApiOptions, 'apiUrl' | 'sleep' | 'timeout'> {
  /** Bearer token: of an installation, or the App's own. */
  token: string
}

export interface Client extends Pick<ApiClient, 'sleep'> {
  /** Errors: those of `ApiClient.call`. */
  call<R extends Route>(route: R, parameters: Parameters<R>, options: CallOptions): Promise<Data<R>>
  /** The first entry of a list, of all its pages, that `find` wants; null where there is none. */
  pages<R extends Route, T>(
    route: R,
    parameters: Parameters<R>,
    entries: (data: Data<R>) => readonly T[],
    options: CallOptions & { find: (entry: T) => boolean },
  ): Promise<T | null>
}

const PAGE = 100
const MOST_PAGES = 50
const API_VERSION = '2022-11-28'

export const githubClient = ({ token, ...options }: ClientOptions): Client => {
  const headers = { authorization: `Bearer ${token}`, 'x-github-api-version': API_VERSION }
  const api = apiClient({ ...options, name: 'GitHub', headers })
  const call: Client['call'] = async <R extends Route>(route: R, parameters: Parameters<R>, how: CallOptions): Promise<Data<R>> => {
    const answer = await api.call(route, parameters, how)
    return answer.data
  }
  return {
    call,
    sleep: api.sleep,
    pages: async (route, parameters, entries, { find, ...how }) => {
      for (let page = 1; page <= MOST_PAGES; page++) {
        const { data, hasMore } = await api.call(route, { ...parameters, per_page: PAGE, page }, how)
        const wanted = entries(data as Data<typeof route>).find(find)
        if (wanted) return wanted
        if (!hasMore) return null
      }
      return null
    },
  }
}
