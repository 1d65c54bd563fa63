import { report, type Report } from '../../lib/loop/report.ts'
import { reportOfRun } from '../../lib/loop/run-report.ts'
import { asTyped } from '../terminal/command-name.ts'
import { findRemote, reportRemote } from '../terminal/remote-run.ts'
import { parseRemote } from '../terminal/remote.ts'
import { signOfLife } from '../terminal/sign-of-life.ts'
import { withSession } from '../terminal/session.ts'
import { findRun } from './find-run.ts'

/** The report of a run, here or in a deployment; the newest where none is named. Errors: RunNotFound, BadRequest, those of the API. */
export const readReport = (named: string | undefined, { data, remote }: { data?: string; remote?: string }): Promise<Report> => {
  if (remote) {
    const url = parseRemote(remote)
    return signOfLife(`waiting for ${url.host}`, false, async () => reportRemote(url, await findRemote(url, named, [undefined], 'run yet')))
  }
  return withSession({ data, own: false, existing: true }, async ({ loop }) => {
    const run = await findRun(loop.ports.runs, named, [() => true], asTyped('run yet: start one with `reviewloop run`'))
    const { bytes } = await reportOfRun(loop.ports, run, 'json')
    return report.parse(JSON.parse(Buffer.from(bytes).toString('utf8')))
  })
}
