import * as z from 'zod'
import { startFromCi } from '../../lib/loop/ci-door.ts'
import { startFromApi } from '../../lib/loop/door.ts'
import { startNight } from '../../lib/loop/night.ts'
import { ciStartBody, startBody } from '../../lib/loop/requests.ts'
import type { StartPorts } from '../../lib/loop/start.ts'
import { runOf } from '../../lib/loop/view.ts'
import type { Callers } from '../../lib/runtime/caller.ts'
import { answering, json, readBody, readRequest } from '../../lib/runtime/http.ts'

/** What the schedule of a repository sends. */
const scheduleEvent = z.object({ schedule: z.strictObject({ repository: z.string(), at: z.string().optional() }) })

/** The one way to start a run: POST /runs, that of a CI's jobs, and the schedules. */
export const handler =
  (ports: StartPorts, callers: Callers) =>
  async (event: unknown): Promise<unknown> => {
    const scheduled = scheduleEvent.safeParse(event)
    if (scheduled.success) {
      const { run, ...night } = await startNight(ports, scheduled.data.schedule)
      return { runId: run?.runId ?? null, ...night }
    }
    return answering(async () => {
      const request = readRequest(event)
      const { name, job } = await callers(request)
      const { run, started } = job
        ? await startFromCi(ports, job, readBody(ciStartBody, request))
        : await startFromApi(ports, { body: readBody(startBody, request), startedBy: name })
      return json(started ? 201 : 200, { ...runOf(run), started }, { location: `/runs/${run.runId}` })
    }, ports.effects)
  }
