/** The one review of a run: comments on lines of the change, fixes as suggested changes. It never approves by GitHub's own button. */
import { asLoopError } from '../../loop/errors.ts'
import { reviewBody } from '../../loop/forge-text.ts'
import { code } from '../../loop/markdown.ts'
import type { ReviewComment, ReviewPlan } from '../../loop/review-comments.ts'
import type { Piece, Told } from '../../loop/telling.ts'
import { createOnce } from '../api-client.ts'
import { assertGranted } from './app.ts'
import { isOurs, mark, type Scene } from './scene.ts'

const MOST_TEXT = 60_000

const lineOf = ({ file, start, end, body }: ReviewComment) => ({
  path: file,
  body,
  side: 'RIGHT',
  line: end,
  ...(start < end ? { start_line: start, start_side: 'RIGHT' } : {}),
})

/** A suggestion is one only where it stands on its line. */
const asText = ({ file, start, body }: ReviewComment): string =>
  `${code(`${file}:${start}`)}\n\n${body.replace(/^(`{3,})suggestion$/gm, '$1text')}`

/** `plan` is made when the review is: it needs the change itself. */
export const reviewPiece = (scene: Scene, pull_number: number, plan: ReviewPlan): Piece => {
  const { access, at, news } = scene
  const { client } = access
  const hidden = mark('review', news.runId)
  const { commit, comments, unplaced } = plan

  const find = async (signal: AbortSignal): Promise<Told | null> => {
    const found = await client.pages('GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews', { ...at, pull_number }, (data) => data, {
      signal,
      find: ({ user, body }) => isOurs(access, user) && body.includes(hidden),
    })
    return found && { id: String(found.id), url: found.html_url }
  }
  const post = async (body: string, lines: readonly ReviewComment[], signal: AbortSignal): Promise<Told> => {
    const { id, html_url } = await client.call(
      'POST /repos/{owner}/{repo}/pulls/{pull_number}/reviews',
      { ...at, pull_number, commit_id: commit, event: 'COMMENT', body: `${body}\n${hidden}`, comments: lines.map(lineOf) },
      { signal, once: true },
    )
    return { id: String(id), url: html_url }
  }
  /** GitHub refuses all of a review for one line that it does not show: then the comments stand in its text. */
  const create = async (signal: AbortSignal): Promise<Told> => {
    try {
      return await post(reviewBody(news, unplaced, comments.length), comments, signal)
    } catch (thrown) {
      if (asLoopError(thrown).name !== 'ForgeInvalid' || !comments.length) throw thrown
      const text = [reviewBody(news, unplaced, 0), ...comments.map(asText)].join('\n\n---\n\n')
      return post(text.slice(0, MOST_TEXT), [], signal)
    }
  }
  return {
    says: hidden,
    find,
    create: async (signal) => {
      assertGranted(access, 'pull_requests')
      return createOnce(client, signal, { find: () => find(signal), create: () => create(signal) })
    },
    update: null,
  }
}
