/** What befalls the world as a whole: a process that dies, an execution that is cut off, time, and a bucket that loses objects. */
import { DeleteItemCommand } from '@aws-sdk/client-dynamodb'
import { roleKey, TURN_ROLES } from '../../../lib/names.ts'
import type { World } from './world.ts'

const DAY = 24 * 3600_000

/** An execution ends where no Catch can see. */
export const cut = ({ executions, monitor, random }: World, status: 'stopped' | 'failed'): void => {
  const running = executions.running()
  if (!running.length) return
  monitor.excuse('Unexpected')
  random.pick(running).end(status, status === 'stopped' ? 'ABORTED' : 'FAILED')
}

/** Time passes until the next thing that waits for it, whatever else goes on. */
export const jump = ({ scheduler, monitor, random }: World): void => {
  const timer = scheduler.nextTimer()
  for (const error of ['Unexpected', 'TurnBusy']) monitor.excuse(error)
  scheduler.now = timer ? timer.at : scheduler.now + random.int(1, 3600) * 1000
}

/** Everything of the process is gone at once; the next one owns the data folder, and nothing of the earlier is on its way. */
export const killProcess = (world: World): void => {
  const { scheduler, executions, monitor } = world
  for (const worker of scheduler.workers) scheduler.kill(worker, 0)
  scheduler.inFlight.length = 0
  scheduler.timers.length = 0
  executions.vanish()
  world.owner = `process-${scheduler.step}`
  monitor.saw('process killed')
  scheduler.note('a new process owns the data folder')
}

/** A month later nothing and nobody of then is under way any more, not even an execution that waited, and DynamoDB deletes what is past its TTL, one item or another. */
export const expire = ({ random, scheduler, executions, monitor, tables, outside }: World): void => {
  for (const worker of scheduler.workers) scheduler.kill(worker, 0)
  scheduler.inFlight.length = 0
  scheduler.timers.length = 0
  executions.vanish()
  executions.invocations.length = 0
  scheduler.now += 31 * DAY
  for (const error of ['Unexpected', 'TurnBusy', 'ArtifactLost']) monitor.excuse(error)
  if (random.chance(0.5)) return
  for (const runId of outside.runIds())
    for (const role of TURN_ROLES) {
      const item = monitor.turns.itemOf(runId, role)
      if (!item || item.ttl * 1000 > scheduler.now || random.chance(0.5)) continue
      monitor.turns.forget(runId, role)
      monitor.saw('item deleted by TTL')
      scheduler.note(`DynamoDB deletes the ${role}'s item of ${runId}`)
      outside.pending.push(tables.send(new DeleteItemCommand({ TableName: 'Sessions', Key: { pk: { S: roleKey(runId, role) } } })))
    }
}

/** A transcript or unfinished work that an item names is lost in the bucket. */
export const damage = ({ random, artifacts, scheduler, monitor }: World): void => {
  const keys = [...monitor.turns.items.values()].flatMap(({ session, checkpoint }) => [
    session?.transcript,
    checkpoint?.transcript,
    checkpoint?.work,
  ])
  const key = random.pick(keys.filter((found) => typeof found === 'string'))
  if (!key) return
  scheduler.note(`${key} is lost`)
  artifacts.objects.delete(key)
}
