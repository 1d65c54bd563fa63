import { assertOwnRun } from '../../lib/loop/ci-claims.ts'
import { readRun } from '../../lib/loop/current-run.ts'
import type { ArtifactLinks, Ports } from '../../lib/loop/ports.ts'
import { reportQuery } from '../../lib/loop/requests.ts'
import { reportOfRun } from '../../lib/loop/run-report.ts'
import type { Callers } from '../../lib/runtime/caller.ts'
import { answering, bytes, readQuery, readRequest, readRunId, redirect } from '../../lib/runtime/http.ts'
import { formatOf, FORMATS } from '../../lib/runtime/report-format.ts'

/** An answer of a function may have 6 MB, a third of which goes into its spelling. */
const MOST_BYTES = 3_000_000

/** GET /runs/{id}/report, for people and CI jobs. `links`: null where there are no addresses to send anybody to. */
export const handler =
  (ports: Pick<Ports, 'runs' | 'artifacts' | 'effects'>, callers: Callers, links: ArtifactLinks | null) =>
  (event: unknown): Promise<unknown> =>
    answering(async () => {
      const request = readRequest(event)
      const { job } = await callers(request)
      const format = formatOf(readQuery(reportQuery, request).format, request.headers['accept'])
      const { extension, contentType } = FORMATS[format]
      const run = await readRun(ports.runs, readRunId(request))
      if (job) assertOwnRun(job, run)
      const report = await reportOfRun(ports, run, extension)
      if (!links || !report.key || report.bytes.length <= MOST_BYTES) return bytes(200, report.bytes, contentType)
      return redirect(await links.link(report.key, { contentType, name: `${run.runId}.${extension}` }))
    }, ports.effects)
