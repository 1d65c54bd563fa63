import * as z from 'zod'
import { startFromCi } from '../../lib/loop/ci-door.ts'
import { startFromApi, startFromDoor } from '../../lib/loop/door.ts'
import { ciStartBody, startBody } from '../../lib/loop/requests.ts'
import type { StartPorts } from '../../lib/loop/start.ts'
import { runOf } from '../../lib/loop/view.ts'
import type { Callers } from '../../lib/runtime/caller.ts'
import { answering, json, readBody, readRequest } from '../../lib/runtime/http.ts'

/** What the schedule of a repository sends. */
const scheduleEvent = z.object({ schedule: startBody })

/** Nobody is there to ask at night. */
const UNATTENDED = { ask: 'never' } as const

/** The one way to start a run: POST /runs, that of a CI's jobs, and the schedules. */
export const handler =
  (ports: StartPorts, callers: Callers) =>
  async (event: unknown): Promise<unknown> => {
    const scheduled = scheduleEvent.safeParse(event)
    if (scheduled.success) {
      const body = { ...scheduled.data.schedule, overrides: { ...UNATTENDED, ...scheduled.data.schedule.overrides } }
      const { run, started } = await startFromDoor(ports, { body, startedBy: 'schedule' })
      return { runId: run.runId, started }
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
