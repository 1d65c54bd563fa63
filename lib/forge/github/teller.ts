/** Tells GitHub how a run stands: checks, one review, one summary, a question, the pull request with the fixes, code scanning. */
import { fixesCheck, headCheck } from '../../loop/check-plan.ts'
import { type Deployment, type DeployedRepository, repositoryOf } from '../../loop/deployment.ts'
import { planReview } from '../../loop/review-comments.ts'
import { type Board, isPublished, type News, type Teller } from '../../loop/telling.ts'
import { type AppOptions, assertGranted, nameOf, openAccess } from './app.ts'
import { checkPiece } from './check.ts'
import { scanned, scanPiece } from './code-scanning.ts'
import { questionPiece, summaryPiece } from './comments.ts'
import { fixesPullPiece, reviewedPull } from './pulls.ts'
import { reviewPiece } from './review.ts'
import type { Scene } from './scene.ts'

/** Comparing the change is git's work and may take long: without its lines the rest is told all the same. */
const COMPARE_MS = 60_000

export type GithubFacts = DeployedRepository & { forge: { kind: 'github' } }

/** null for a repository that is not GitHub's. */
export const githubFacts = (deployment: Deployment, url: string): GithubFacts | null => {
  const found = repositoryOf(deployment, url)
  return found?.forge.kind === 'github' ? (found as GithubFacts) : null
}

const tellPull = async (scene: Scene, pull: number, fixes: string | null, board: Board, signal: AbortSignal): Promise<void> => {
  const { news } = scene
  const question = questionPiece(scene, pull)
  if (question && (news.phase === 'parked' || board.known(question.name))) await board.bring(question.name, question.piece)
  if (news.phase !== 'ended' || news.report.outcome === 'superseded') return
  await board.bring('summary', summaryPiece(scene, pull, fixes))
  if (!isPublished(news.report.outcome) || board.known('review')) return
  const comparison = await news.compare(AbortSignal.any([signal, AbortSignal.timeout(COMPARE_MS)]))
  const plan = comparison && planReview(news, comparison)
  if (plan) await board.bring('review', reviewPiece(scene, pull, plan))
}

const tellAll = async (scene: Scene, facts: GithubFacts, board: Board, signal: AbortSignal): Promise<void> => {
  const { news } = scene
  const { branch } = news.request
  await board.bring('check', checkPiece(scene, headCheck(news)))
  const ofFixes = fixesCheck(news)
  if (ofFixes) await board.bring('check-fixes', checkPiece(scene, ofFixes))
  const { pushed } = news
  const isWanted = facts.publish === 'pull-request' && pushed && branch !== null && pushed.ref !== branch
  const fixes = isWanted ? await board.bring('pull-request', fixesPullPiece(scene, pushed.ref, branch, facts.forge.repositoryId)) : null
  const scan = isPublished(news.report.outcome) ? scanned(news) : null
  if (scan) await board.bring('code-scanning', scanPiece(scene, scan))
  assertGranted(scene.access, 'pull_requests')
  const pull = await reviewedPull(scene, facts.forge.repositoryId, signal)
  if (pull !== null) await tellPull(scene, pull, fixes && `#${fixes.id}`, board, signal)
}

/** Repositories of GitHub, by the deployment's App. Errors of `tell`: those of `openAccess`, and of `Board.bring`. */
export const githubTeller = (deployment: Deployment, app: AppOptions): Teller => ({
  tells: (repository) => githubFacts(deployment, repository) !== null,
  tell: async (news: News, board, signal) => {
    const facts = githubFacts(deployment, news.request.repository)
    if (!facts) return
    const at = nameOf(facts.url)
    const wanted = { checks: 'write', pull_requests: 'write', security_events: 'write' } as const
    const access = await openAccess(app, { ...at, ...facts.forge }, wanted, signal)
    await tellAll({ access, at, news }, facts, board, signal)
  },
})
