/** A check run: made on one commit, found again by the run's id, brought to its conclusion with its annotations. */
import { LoopError } from '../../loop/errors.ts'
import type { CheckPlan } from '../../loop/check-plan.ts'
import type { Piece, Told } from '../../loop/telling.ts'
import { createOnce } from '../api-client.ts'
import { assertGranted } from './app.ts'
import type { Scene } from './scene.ts'

const CHECK_NAME = 'reviewloop'
/** As many as one request takes. */
const BATCH = 50
const TRIES = 5

const toldOf = ({ id, html_url }: { id: number | bigint; html_url: string | null }): Told => ({ id: String(id), url: html_url })

export const checkPiece = (scene: Scene, plan: CheckPlan): Piece => {
  const { access, at, news } = scene
  const { client } = access
  const external_id = news.runId
  const output = { title: plan.title, summary: plan.summary }

  const find = async (signal: AbortSignal): Promise<Told | null> => {
    const found = await client.pages(
      'GET /repos/{owner}/{repo}/commits/{ref}/check-runs',
      { ...at, ref: plan.commit, check_name: CHECK_NAME, app_id: access.app.id, filter: 'all' },
      ({ check_runs }) => check_runs,
      { signal, find: (run) => run.external_id === external_id && run.app?.id === access.app.id },
    )
    return found && toldOf(found)
  }

  /** Each request adds its annotations to those that are there: how many are is asked before each, so that none is there twice. */
  const annotate = async (check_run_id: number, signal: AbortSignal): Promise<void> => {
    for (let tries = 1; ;) {
      const { output: shown } = await client.call(
        'GET /repos/{owner}/{repo}/check-runs/{check_run_id}',
        { ...at, check_run_id },
        { signal },
      )
      const annotations = plan.annotations.slice(shown.annotations_count, shown.annotations_count + BATCH)
      if (!annotations.length) return
      try {
        await client.call(
          'PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}',
          { ...at, check_run_id, output: { ...output, annotations } },
          { signal, once: true },
        )
        tries = 1
      } catch (thrown) {
        if (!(thrown instanceof LoopError) || thrown.name !== 'ForgeUnavailable' || signal.aborted || tries++ === TRIES) throw thrown
        await client.sleep(1000 * tries, signal)
      }
    }
  }

  const update = async (id: string, signal: AbortSignal): Promise<void> => {
    const check_run_id = Number(id)
    if (plan.annotations.length) await annotate(check_run_id, signal)
    const state = plan.conclusion ? { status: 'completed' as const, conclusion: plan.conclusion } : { status: plan.status }
    await client.call('PATCH /repos/{owner}/{repo}/check-runs/{check_run_id}', { ...at, check_run_id, ...state, output }, { signal })
  }

  return {
    says: JSON.stringify(plan),
    find,
    create: async (signal) => {
      assertGranted(access, 'checks')
      // A check that is born completed could not be given all its annotations: it is brought to its end afterwards.
      const status = plan.status === 'queued' ? ('queued' as const) : ('in_progress' as const)
      const body = { ...at, name: CHECK_NAME, head_sha: plan.commit, external_id, status, started_at: news.report.startedAt, output }
      const create = async () => toldOf(await client.call('POST /repos/{owner}/{repo}/check-runs', body, { signal, once: true }))
      const made = await createOnce(client, signal, { find: () => find(signal), create })
      if (plan.conclusion) await update(made.id, signal)
      return made
    },
    update,
  }
}
