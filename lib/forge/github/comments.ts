/** Comments on a pull request: one summary, whichever run it is of, and one for each question. */
import { questionComment, summaryComment } from '../../loop/forge-text.ts'
import type { Piece, Told } from '../../loop/telling.ts'
import { createOnce } from '../api-client.ts'
import { assertGranted } from './app.ts'
import { isOurs, mark, type Scene } from './scene.ts'

interface Comment {
  id: number | bigint
  html_url: string
  body?: string | undefined
}

const toldOf = ({ id, html_url }: Comment): Told => ({ id: String(id), url: html_url })

const commentPiece = (scene: Scene, issue_number: number, text: string, isIt: (body: string) => boolean): Piece => {
  const { access, at } = scene
  const { client } = access
  const find = async (signal: AbortSignal): Promise<Told | null> => {
    const found = await client.pages('GET /repos/{owner}/{repo}/issues/{issue_number}/comments', { ...at, issue_number }, (data) => data, {
      signal,
      find: ({ user, body = '' }) => isOurs(access, user) && isIt(body),
    })
    return found && toldOf(found)
  }
  return {
    says: text,
    find,
    create: async (signal) => {
      assertGranted(access, 'pull_requests')
      const body = { ...at, issue_number, body: text }
      const create = async () =>
        toldOf(await client.call('POST /repos/{owner}/{repo}/issues/{issue_number}/comments', body, { signal, once: true }))
      return createOnce(client, signal, { find: () => find(signal), create })
    },
    update: async (id, signal) => {
      await client.call(
        'PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}',
        { ...at, comment_id: Number(id), body: text },
        { signal },
      )
    },
  }
}

const SUMMARY = /<!-- reviewloop:summary (\S+) (r-[0-9a-f]{16}) -->/

/**
 * The summary of the pull request's latest run. Runs follow one another on the one comment: what it says of a later run, an earlier one
 * that is told late leaves alone.
 */
export const summaryPiece = (scene: Scene, pull: number, fixes: string | null): Piece => {
  const { news, access, at } = scene
  const { startedAt } = news.report
  const piece = commentPiece(scene, pull, `${summaryComment(news, fixes)}\n${mark('summary', `${startedAt} ${news.runId}`)}`, (body) =>
    SUMMARY.test(body),
  )
  return {
    ...piece,
    update: async (id, signal) => {
      const found = await access.client.call(
        'GET /repos/{owner}/{repo}/issues/comments/{comment_id}',
        { ...at, comment_id: Number(id) },
        { signal },
      )
      const [, at_ = '', run] = SUMMARY.exec(found.body ?? '') ?? []
      if (run === news.runId || Date.parse(at_) <= Date.parse(startedAt)) await piece.update?.(id, signal)
    },
  }
}

/** null where the run asks nothing, and never did. */
export const questionPiece = (scene: Scene, pull: number): { name: string; piece: Piece } | null => {
  const text = questionComment(scene.news)
  const { question } = scene.news
  if (text === null || question === null) return null
  const hidden = mark('question', `${scene.news.runId} ${question.id}`)
  return { name: `question-${question.id}`, piece: commentPiece(scene, pull, `${text}\n${hidden}`, (body) => body.includes(hidden)) }
}
