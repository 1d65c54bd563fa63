import * as z from 'zod'
import { startBody, startFromDoor } from '../../lib/loop/door.ts'
import type { StartPorts } from '../../lib/loop/start.ts'
import { runOf } from '../../lib/loop/view.ts'
import { parseEvent } from '../../lib/runtime/event.ts'
import { answering, httpEvent, json, jsonBody } from '../../lib/runtime/http.ts'

/** What the schedule of a repository sends. */
const scheduleEvent = z.object({ schedule: startBody })

/** Nobody is there to ask at night. */
const UNATTENDED = { ask: 'never' } as const

/** The one way to start a run: POST /runs, and the schedules. */
export const handler =
  (ports: StartPorts) =>
  async (event: unknown): Promise<unknown> => {
    const scheduled = scheduleEvent.safeParse(event)
    if (scheduled.success) {
      const body = { ...scheduled.data.schedule, overrides: { ...UNATTENDED, ...scheduled.data.schedule.overrides } }
      const { run, started } = await startFromDoor(ports, { body, startedBy: 'schedule' })
      return { runId: run.runId, started }
    }
    return answering(async () => {
      const request = parseEvent(httpEvent, event)
      const body = parseEvent(startBody, jsonBody(request))
      const startedBy = request.requestContext.authorizer?.iam?.userArn ?? 'api'
      const { run, started } = await startFromDoor(ports, { body, startedBy })
      return json(started ? 201 : 200, { ...runOf(run), started }, { location: `/runs/${run.runId}` })
    })
  }
