import { readRun } from '../../lib/loop/current-run.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import type { Ports } from '../../lib/loop/ports.ts'
import { runId } from '../../lib/loop/run.ts'
import { viewOf } from '../../lib/loop/view.ts'
import { parseEvent } from '../../lib/runtime/event.ts'
import { answering, httpEvent, json } from '../../lib/runtime/http.ts'

/** GET /runs/{id}: the run and its turns. */
export const handler =
  (ports: Pick<Ports, 'runs'>) =>
  (event: unknown): Promise<unknown> =>
    answering(async () => {
      const id = runId.safeParse(parseEvent(httpEvent, event).pathParameters?.['id'])
      if (!id.success) throw new LoopError('RunNotFound', 'A run id is r- and 16 hexadecimal digits.')
      return json(200, viewOf(await readRun(ports.runs, id.data), await ports.runs.turns(id.data)))
    })
