/** What the checks of a run say: one on the commit that was reviewed, one on the commit with the fixes. Pure. */
import type { Severity } from './finding.ts'
import { checkSummary, titleOf } from './forge-text.ts'
import { code } from './markdown.ts'
import { printable } from './redact.ts'
import { isOnBranch } from './review-comments.ts'
import type { News } from './telling.ts'

/** One request takes 50 annotations; more than these nobody reads. */
const MOST_ANNOTATIONS = 500
const MOST_MESSAGE = 8000

export interface Annotation {
  path: string
  start_line: number
  end_line: number
  annotation_level: 'failure' | 'warning' | 'notice'
  title: string
  message: string
}

export interface CheckPlan {
  commit: string
  status: 'queued' | 'in_progress' | 'completed'
  /** null until it is completed. */
  conclusion: 'success' | 'failure' | 'neutral' | 'cancelled' | 'action_required' | null
  title: string
  summary: string
  annotations: Annotation[]
}

const LEVELS: Record<Severity, Annotation['annotation_level']> = { error: 'failure', warning: 'warning', info: 'notice' }

/** Lines of findings are lines of the commit that stands, and of no other. */
const annotationsOf = ({ report }: News): Annotation[] =>
  report.findings
    .flatMap(({ status, file, line, endLine = line, severity, rule, text, id }) =>
      status === 'open' && line !== undefined && endLine !== undefined
        ? {
            path: file,
            start_line: line,
            end_line: Math.max(line, endLine),
            annotation_level: LEVELS[severity],
            title: `${printable(rule).slice(0, 200)} (${id})`,
            message: printable(text).slice(0, MOST_MESSAGE),
          }
        : [],
    )
    .slice(0, MOST_ANNOTATIONS)

const concluded = ({ report: { outcome } }: News): CheckPlan['conclusion'] => {
  if (outcome === 'approved') return 'success'
  if (outcome === 'superseded') return 'neutral'
  return outcome === 'aborted' ? 'cancelled' : 'failure'
}

/** Of a commit that was approved with fixes it is not the commit that may be merged, but the one with the fixes. */
const headConclusion = (news: News): Pick<CheckPlan, 'conclusion'> & { note: string | null } => {
  const { commit, request, pushed } = news
  const conclusion = concluded(news)
  if (conclusion !== 'success' || commit === request.head) return { conclusion, note: null }
  const fixes = `commit ${code(commit.slice(0, 10))}${pushed ? ` on branch ${code(pushed.ref)}` : ''}`
  return isOnBranch(news)
    ? { conclusion: 'neutral', note: `The branch has the fixes by now: look at the check of ${fixes}.` }
    : { conclusion: 'action_required', note: `Approved together with its fixes: take ${fixes}.` }
}

const STATUS = { queued: 'queued', running: 'in_progress', parked: 'in_progress', ended: 'completed' } as const

/** The check of the commit that was reviewed. */
export const headCheck = (news: News): CheckPlan => {
  const { conclusion, note } = news.phase === 'ended' ? headConclusion(news) : { conclusion: null, note: null }
  return {
    commit: news.request.head,
    status: STATUS[news.phase],
    conclusion,
    title: titleOf(news),
    summary: checkSummary(news, note),
    annotations: news.phase === 'ended' && news.commit === news.request.head ? annotationsOf(news) : [],
  }
}

/** The check of the commit with the fixes; null where they were not put anywhere. */
export const fixesCheck = (news: News): CheckPlan | null => {
  if (!news.pushed) return null
  return {
    commit: news.pushed.commit,
    status: 'completed',
    conclusion: concluded(news),
    title: titleOf(news),
    summary: checkSummary(news, null),
    annotations: annotationsOf(news),
  }
}
