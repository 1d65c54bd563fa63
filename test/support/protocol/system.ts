/** What is driven: the real code of a checkout, or of a copy of it in which one clause was left out. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Asl } from '../../../lib/infra/loop-definition.ts'
import type * as HandlersModule from '../../../lib/local/handlers.ts'
import type * as StartModule from '../../../lib/loop/start.ts'
import type * as ResumeModule from '../../../lib/loop/resume.ts'
import type * as EndRunModule from '../../../lib/loop/end-run.ts'
import type * as DecideModule from '../../../lib/loop/decide.ts'
import type * as LostModule from '../../../lib/loop/record-failure.ts'
import type * as SessionsModule from '../../../lib/stores/dynamodb/sessions.ts'
import type * as RunsModule from '../../../lib/stores/dynamodb/runs.ts'
import type * as ErrorsModule from '../../../lib/loop/errors.ts'
import type * as IdsModule from '../../../lib/loop/run-id.ts'

/** Folder that holds `lib` and `functions`: this checkout. */
export const CHECKOUT = fileURLToPath(new URL('../../..', import.meta.url))

/** Loads the code under a folder. Two folders give two systems that share nothing but the packages. */
export const loadSystem = async (root: string = CHECKOUT) => {
  const from = async <T>(path: string): Promise<T> => (await import(pathToFileURL(join(root, path)).href)) as T
  const [handlers, start, resume, endRun, decide, lost, sessions, runs, errors, ids] = await Promise.all([
    from<typeof HandlersModule>('lib/local/handlers.ts'),
    from<typeof StartModule>('lib/loop/start.ts'),
    from<typeof ResumeModule>('lib/loop/resume.ts'),
    from<typeof EndRunModule>('lib/loop/end-run.ts'),
    from<typeof DecideModule>('lib/loop/decide.ts'),
    from<typeof LostModule>('lib/loop/record-failure.ts'),
    from<typeof SessionsModule>('lib/stores/dynamodb/sessions.ts'),
    from<typeof RunsModule>('lib/stores/dynamodb/runs.ts'),
    from<typeof ErrorsModule>('lib/loop/errors.ts'),
    from<typeof IdsModule>('lib/loop/run-id.ts'),
  ])
  return {
    handlersOf: handlers.handlersOf,
    startRun: start.startRun,
    resumeRun: resume.resumeRun,
    abortRun: endRun.abortRun,
    decideRun: decide.decideRun,
    recordLostExecution: lost.recordLostExecution,
    dynamoSessions: sessions.dynamoSessions,
    dynamoRuns: runs.dynamoRuns,
    LoopError: errors.LoopError,
    asLoopError: errors.asLoopError,
    runIdOf: ids.runIdOf,
    branchKeyOf: ids.branchKeyOf,
    machine: JSON.parse(readFileSync(join(root, 'lib/local/loop-machine.asl.json'), 'utf8')) as Asl,
  }
}

export type System = Awaited<ReturnType<typeof loadSystem>>
