/** Pull requests: the one of the branch that is reviewed, and the one with the fixes. */
import { fixesPullRequest } from '../../loop/forge-text.ts'
import type { Piece, Told } from '../../loop/telling.ts'
import { createOnce } from '../api-client.ts'
import { assertGranted } from './app.ts'
import { isOurs, mark, type Scene } from './scene.ts'

interface Pull {
  number: number
  html_url: string
  body: string | null
}

const toldOf = ({ number, html_url }: Pull): Told => ({ id: String(number), url: html_url })

/** The open pull request whose head is this branch of this repository; one of a fork that calls its branch the same is none. */
const openPull = async (
  scene: Scene,
  branch: string,
  base: string | null,
  repositoryId: number,
  signal: AbortSignal,
): Promise<Pull | null> => {
  const { access, at } = scene
  return access.client.pages(
    'GET /repos/{owner}/{repo}/pulls',
    { ...at, state: 'open', head: `${at.owner}:${branch}`, ...(base === null ? {} : { base }) },
    (data) => data,
    // A repository that was deleted leaves a pull request without one, whatever the description says.
    { signal, find: ({ head }) => head.ref === branch && (head.repo as { id: number } | null)?.id === repositoryId },
  )
}

/** Number of the pull request that people look at; null where the branch has none. */
export const reviewedPull = async (scene: Scene, repositoryId: number, signal: AbortSignal): Promise<number | null> => {
  const { branch } = scene.news.request
  if (branch === null) return null
  return (await openPull(scene, branch, null, repositoryId, signal))?.number ?? null
}

/** Opened from the branch with the fixes into the branch that was reviewed; or the one that is open already is brought up to date. */
export const fixesPullPiece = (scene: Scene, target: string, base: string, repositoryId: number): Piece => {
  const { access, at, news } = scene
  const { client } = access
  const { title, body: text } = fixesPullRequest(news)
  const body = `${text}\n${mark('fixes', news.runId)}`
  const find = async (signal: AbortSignal): Promise<Told | null> => {
    const found = await openPull(scene, target, base, repositoryId, signal)
    return found && toldOf(found)
  }
  return {
    says: `${title}\n${body}`,
    find,
    create: async (signal) => {
      assertGranted(access, 'pull_requests')
      const create = async () =>
        toldOf(await client.call('POST /repos/{owner}/{repo}/pulls', { ...at, title, body, head: target, base }, { signal, once: true }))
      return createOnce(client, signal, { find: () => find(signal), create })
    },
    update: async (id, signal) => {
      const pull_number = Number(id)
      const { user } = await client.call('GET /repos/{owner}/{repo}/pulls/{pull_number}', { ...at, pull_number }, { signal })
      // What a person opened from the branch keeps that person's words.
      if (isOurs(access, user))
        await client.call('PATCH /repos/{owner}/{repo}/pulls/{pull_number}', { ...at, pull_number, title, body }, { signal })
    },
  }
}
