/** Runs of a deployment as the commands need them: found, followed, reported. */
import { writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { asLoopError, LoopError } from '../../lib/loop/errors.ts'
import { runSummary } from '../../lib/loop/items.ts'
import { firstIssue } from '../../lib/loop/issue.ts'
import { question } from '../../lib/loop/decision.ts'
import { report, type Report } from '../../lib/loop/report.ts'
import { renderText } from '../../lib/loop/report-text.ts'
import { printable } from '../../lib/loop/redact.ts'
import { runId } from '../../lib/loop/run.ts'
import { shellWord } from '../../lib/loop/take-fixes.ts'
import { commandName } from './command-name.ts'
import { exitCodeOfRun, type ExitCode } from './exit.ts'
import type { Format, Outputs } from './output.ts'
import { paintFor, type Screen } from './paint.ts'
import { callRemote, fetchRemote, type RemoteCall } from './remote.ts'
import { STYLES } from './report.ts'
import { signOfLife } from './sign-of-life.ts'

/** What a list says of a run; a deployment that is newer may say more. */
const listed = z.looseObject(runSummary.shape)
export type RemoteRun = z.infer<typeof listed>
const page = z.looseObject({ runs: z.array(listed), next: z.string().nullable() })
const oneRun = z.looseObject({ run: z.looseObject({ ...runSummary.shape, question: question.nullable(), decision: z.unknown() }) })
type OneRun = z.infer<typeof oneRun>['run']

const POLL_MS = 2000
/** Times that a deployment may fail to answer, one after another, before nobody waits any more. */
const MOST_MISSED = 30

const checked = <T>(url: URL, schema: z.ZodType<T>, value: unknown): T => {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new LoopError('StoreUnavailable', `${url.host} answered what this version does not know: ${firstIssue(parsed.error)}.`)
}

/** The newest runs, at most so many. */
export const listRemote = async (url: URL, wanted: RemoteCall['query'], most: number): Promise<RemoteRun[]> => {
  const runs: RemoteRun[] = []
  let after: string | undefined
  do {
    const text = await fetchRemote(url, 'GET', '/runs', { query: { ...wanted, limit: String(Math.min(100, most)), after } })
    const { runs: more, next } = checked(url, page, JSON.parse(text))
    runs.push(...more)
    after = next ?? undefined
  } while (after !== undefined && runs.length < most)
  return runs.slice(0, most)
}

const MOST_LOOKED_AT = 500

/** The run that a person means: an id, the beginning of one, or the newest of a status. Errors: RunNotFound, BadRequest. */
export const findRemote = async (
  url: URL,
  named: string | undefined,
  statuses: readonly (string | undefined)[],
  what: string,
): Promise<string> => {
  if (named !== undefined && runId.safeParse(named).success) return named
  if (named === undefined) {
    for (const status of statuses) {
      const [newest] = await listRemote(url, { status }, 1)
      if (newest) return newest.runId
    }
    throw new LoopError('RunNotFound', `${url.host} has no ${what}.`)
  }
  const runs = await listRemote(url, {}, MOST_LOOKED_AT)
  const [only, another] = runs.filter(({ runId: id }) => id.startsWith(named) || id.startsWith(`r-${named}`))
  if (!only || !named) throw new LoopError('RunNotFound', `None of the newest runs of ${url.host} is ${named}.`, { runId: named })
  if (another) throw new LoopError('BadRequest', `${named} is the beginning of several runs, as of ${only.runId} and ${another.runId}.`)
  return only.runId
}

const showRemote = async (url: URL, id: string): Promise<OneRun> => checked(url, oneRun, await callRemote(url, 'GET', `/runs/${id}`)).run

/** Polls until nothing happens to the run any more before somebody does something. */
export const followRemote = (url: URL, id: string, quiet: boolean): Promise<OneRun> =>
  signOfLife(`run ${id} of ${url.host}`, quiet, async () => {
    for (let missed = 0; ;) {
      try {
        const run = await showRemote(url, id)
        if (run.status === 'ended' || (run.status === 'parked' && !run.decision)) return run
        missed = 0
      } catch (thrown) {
        const error = asLoopError(thrown)
        if (error.name !== 'StoreUnavailable' || ++missed > MOST_MISSED) throw error
      }
      await sleep(POLL_MS)
    }
  })

export const reportRemote = async (url: URL, id: string): Promise<Report> =>
  checked(url, report, JSON.parse(await fetchRemote(url, 'GET', `/runs/${id}/report`, { query: { format: 'json' } })))

const lastLines = (url: URL, { run, status, fixes, request }: Report): string => {
  const command = `${commandName()} decide ${run} --remote ${url.href}`
  const lines =
    status === 'parked' ? ['', 'It waits for a decision: --approve, --fix ID…, --skip or --abort, as in', `  ${command} --approve`] : []
  if (fixes?.branch)
    lines.push(
      '',
      `Take the fixes: git fetch ${shellWord(request.repository)} ${shellWord(fixes.branch)} && git merge --ff-only FETCH_HEAD`,
    )
  return lines.length ? `${printable(lines.join('\n'))}\n` : ''
}

const render = async (url: URL, id: string, format: Format, options: { screen: Screen; history: boolean }): Promise<string> => {
  if (format === 'text') {
    const paint = paintFor(options.screen)
    const data = await reportRemote(url, id)
    const text = renderText(data, { paint: (style, part) => paint(STYLES[style], part), history: options.history })
    return `${text.trimEnd()}\n${lastLines(url, data)}`
  }
  try {
    return await fetchRemote(url, 'GET', `/runs/${id}/report`, { query: { format }, accept: '*/*' })
  } catch (thrown) {
    // As here: without a fix commit the patch is an empty one.
    if (asLoopError(thrown).name === 'NoPatch') return ''
    throw thrown
  }
}

/** The report on stdout, and in the files that were asked for. */
export const printRemote = async (url: URL, id: string, outputs: Outputs, history = false): Promise<void> => {
  for (const { format, path } of outputs.files)
    await writeFile(path, await render(url, id, format, { screen: { write: () => true }, history })).catch((cause: unknown) => {
      throw new LoopError('BadRequest', `The report could not be written to ${path}.`, { path }, { cause })
    })
  process.stdout.write(await render(url, id, outputs.stdout, { screen: process.stdout, history }))
}

/** Follows the run, prints its report, and gives the exit code that `run` would. */
export const settleRemote = async (url: URL, id: string, outputs: Outputs, quiet: boolean): Promise<ExitCode> => {
  const run = await followRemote(url, id, quiet)
  await printRemote(url, id, outputs)
  return exitCodeOfRun(run)
}
