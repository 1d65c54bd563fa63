/** What GitHub says of a pull request and of a person, asked with a token that only reads. */
import * as z from 'zod'
import type { DeployedRepository } from '../loop/deployment.ts'
import { LoopError } from '../loop/errors.ts'
import type { PullRequests } from '../loop/pulls.ts'
import type { TokenSource } from '../workspace/address.ts'

const DEADLINE_MS = 5000
const MOST_BYTES = 2 * 1024 * 1024

const side = z.object({ ref: z.string().min(1).max(255), repo: z.object({ id: z.int() }).nullable() })
const pullRequest = z.object({ state: z.string(), head: side, base: side })
const permission = z.object({ permission: z.string() })

/** `maintain` is told as write, `triage` as read. */
const WRITES: readonly string[] = ['admin', 'write']

const failed = (host: string, why: string, cause?: unknown): LoopError => new LoopError('FetchFailed', `${host}: ${why}`, {}, { cause })

const isLoopback = ({ hostname }: URL): boolean => ['localhost', '127.0.0.1', '[::1]'].includes(hostname)

/** null where there is no such thing. */
const get = async (url: URL, token: TokenSource): Promise<unknown> => {
  if (url.protocol !== 'https:' && !isLoopback(url))
    throw new LoopError('FetchRefused', `plain http to ${url.host}: only https leaves this machine`)
  const secret = await token()
  let response: Response
  try {
    response = await fetch(url, {
      headers: {
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
        'user-agent': 'reviewloop',
        ...(secret === null ? {} : { authorization: `Bearer ${secret}` }),
      },
      redirect: 'error',
      signal: AbortSignal.timeout(DEADLINE_MS),
    })
    if (response.status === 404) return null
    if (response.status === 401 || response.status === 403)
      throw new LoopError('FetchRefused', `${url.host} does not let the token see ${url.pathname}`)
    if (!response.ok) throw failed(url.host, `answered ${response.status}`)
    const text = await response.text()
    if (text.length > MOST_BYTES) throw failed(url.host, 'its answer is too long')
    return JSON.parse(text)
  } catch (cause) {
    throw cause instanceof LoopError ? cause : failed(url.host, 'did not answer, or not as it should', cause)
  }
}

const checked = <T>(schema: z.ZodType<T>, url: URL, answer: unknown): T => {
  const parsed = schema.safeParse(answer)
  if (!parsed.success) throw failed(url.host, 'its answer is not what it documents', parsed.error)
  return parsed.data
}

const under = ({ url, forge }: DeployedRepository, path: string): URL => {
  if (forge.kind !== 'github') throw new LoopError('BadRequest', `${url} is no repository on GitHub.`)
  const name = new URL(url).pathname.replace(/^\/+|\/+$|\.git\/*$/g, '')
  return new URL(`${forge.apiUrl.replace(/\/+$/, '')}/repos/${name}/${path}`)
}

/** `token` needs to read metadata and pull requests of the repositories, and nothing more. */
export const githubPulls = (token: TokenSource): PullRequests => ({
  pull: async (repository, number) => {
    const url = under(repository, `pulls/${number}`)
    const answer = await get(url, token)
    if (answer === null) return null
    const { state, head, base } = checked(pullRequest, url, answer)
    return { branch: head.ref, base: base.ref, open: state === 'open', fork: head.repo === null || head.repo.id !== base.repo?.id }
  },
  mayWrite: async (repository, login) => {
    const url = under(repository, `collaborators/${encodeURIComponent(login)}/permission`)
    const answer = await get(url, token)
    return answer !== null && WRITES.includes(checked(permission, url, answer).permission)
  },
})
