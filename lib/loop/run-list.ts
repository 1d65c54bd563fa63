/** Lists of runs: filters, pages, and the cursor between them. */
import { LoopError } from './errors.ts'
import type { RunItem, RunSummary } from './items.ts'
import type { RunPage, RunQuery } from './ports.ts'
import { runId } from './run.ts'
import { normaliseRepository } from './run-id.ts'

/** The last run of a page: the next one begins after it. */
interface Cursor {
  createdAt: string
  runId: string
}

export const cursorOf = ({ createdAt, runId: id }: Cursor): string => `${createdAt}_${id}`

/** Errors: BadRequest. */
export const readCursor = (text: string): Cursor => {
  const [createdAt = '', id = ''] = text.split('_')
  if (!/^\d{4}-\d\d-\d\dT[\d:.]{8,20}Z$/.test(createdAt) || !runId.safeParse(id).success)
    throw new LoopError('BadRequest', '`after` is no cursor: take `next` of the page before.')
  return { createdAt, runId: id }
}

/** The repository of a query in the one spelling that runs have. */
export const wantedRepository = (query: Pick<RunQuery, 'repository'>): string | undefined =>
  query.repository === undefined ? undefined : normaliseRepository(query.repository)

/** Whether a list shows the run. */
export const isWanted = (run: RunSummary, query: Omit<RunQuery, 'limit' | 'after'>): boolean => {
  const { repository, branch } = run.request
  return (
    (query.repository === undefined || repository === wantedRepository(query)) &&
    (query.branch === undefined || branch === query.branch) &&
    (query.status === undefined || run.status === query.status)
  )
}

const summaryOf = ({ runId: id, request, status, startedBy, verdict, createdAt, updatedAt, endedAt }: RunItem): RunSummary => ({
  runId: id,
  request,
  status,
  startedBy,
  verdict,
  createdAt,
  updatedAt,
  endedAt,
})

const newestFirst = (a: Cursor, b: Cursor): number => cursorOf(b).localeCompare(cursorOf(a))

/** A page of runs that are all at hand. Errors: BadRequest. */
export const pageOf = (all: readonly RunItem[], query: RunQuery): RunPage => {
  const after = query.after === undefined ? null : readCursor(query.after)
  const runs = all
    .filter((run) => after === null || newestFirst(after, run) < 0)
    .map(summaryOf)
    .filter((run) => isWanted(run, query))
    .toSorted(newestFirst)
  const page = runs.slice(0, query.limit)
  const last = page.at(-1)
  return { runs: page, next: last && runs.length > page.length ? cursorOf(last) : null }
}
