/** The findings that stand, as SARIF for code scanning. An upload takes the place of an earlier one of the same commit. */
import { gzipSync } from 'node:zlib'
import { renderSarif } from '../../loop/report-sarif.ts'
import type { News, Piece } from '../../loop/telling.ts'
import { assertGranted } from './app.ts'
import type { Scene } from './scene.ts'

/** Where the lines of the findings are true: the branch that has the commit that stands. null where none has. */
export const scanned = ({ commit, request, pushed }: News): { ref: string; commit: string } | null => {
  if (pushed) return { ref: `refs/heads/${pushed.ref}`, commit: pushed.commit }
  return commit === request.head && request.branch !== null ? { ref: `refs/heads/${request.branch}`, commit } : null
}

export const scanPiece = ({ access, at, news }: Scene, { ref, commit }: { ref: string; commit: string }): Piece => ({
  says: commit,
  // To GitHub the same commit and category once more is the same upload.
  find: async () => null,
  create: async (signal) => {
    assertGranted(access, 'security_events')
    const sarif = gzipSync(JSON.stringify(renderSarif(news.report))).toString('base64')
    const { id, url } = await access.client.call(
      'POST /repos/{owner}/{repo}/code-scanning/sarifs',
      { ...at, commit_sha: commit, ref, sarif, tool_name: 'reviewloop', started_at: news.report.startedAt },
      { signal },
    )
    return { id: id ?? commit, url: url ?? null }
  },
  update: null,
})
