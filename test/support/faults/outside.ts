/** What others do while a run goes on, in the midst of one of its effects. */
import { decideRun } from '../../../lib/loop/decide.ts'
import { abortRun } from '../../../lib/loop/end-run.ts'
import { asLoopError } from '../../../lib/loop/errors.ts'
import { recordLostExecution } from '../../../lib/loop/record-failure.ts'
import { resumeRun } from '../../../lib/loop/resume.ts'
import { startRun } from '../../../lib/loop/start.ts'
import { executionName } from '../../../lib/names.ts'
import { workers } from './effect.ts'
import { readItem } from './leftovers.ts'
import type { Outside } from './plan.ts'
import type { Program, World } from './world.ts'

/** What is refused is refused; what finds nothing to act on does nothing. */
export const outsideOf =
  (world: World) =>
  async (what: Outside): Promise<void> => {
    const { program } = world
    try {
      if (program) await workers.run(null, () => act(world, what, program))
    } catch (error) {
      world.monitor.note(`  outside, ${what}: ${String(error)}`)
    }
  }

const act = async (world: World, what: Outside, { loop }: Program): Promise<unknown> => {
  const { ports, engine } = loop
  const runId = world.runIdOf('main')
  const item = await world.aside(() => readItem(world, runId))
  if (!item && what !== 'interrupt') return
  switch (what) {
    case 'abort':
      return abortRun(ports, runId, 'grace')
    case 'newer':
      await world.aside(() => world.place.move('change', world.place.heads.newer))
      world.monitor.excuses.add('HeadMoved').add('NotTheBranchHead')
      return startRun(ports, { request: world.requests.newer, startedBy: 'api', checkHead: true })
    case 'same': {
      const again = () => startRun(ports, { request: world.requests.main, startedBy: 'api', checkHead: true })
      const [one, two] = await Promise.all([again(), again()])
      if (one.started || two.started) world.monitor.violation('the same request started a second run')
      return
    }
    case 'resume':
      return resumeRun(ports, runId)
    case 'lost-execution': {
      if (item?.status === 'ended') return
      world.monitor.excuses.add('Unexpected')
      const name = executionName(runId, item?.epoch ?? 1)
      await engine.stop(name)
      return recordLostExecution(ports, { name, status: 'ABORTED' })
    }
    case 'interrupt':
      // Not waited for: the handler that has to let go is the one that we are in.
      return void engine.interrupt(1000).catch(() => {})
    case 'moved':
    case 'gone':
      world.monitor.excuses.add('HeadMoved').add('BranchGone').add('NotTheBranchHead')
      return world.aside(() => world.place.move('change', what === 'moved' ? world.place.heads.newer : null))
    case 'early-answer': {
      if (item?.status === 'parked') return
      const refused = await decideRun(ports, runId, { answer: { kind: 'approve' }, by: 'mallory' }).catch(
        (error: unknown) => asLoopError(error).name,
      )
      if (typeof refused !== 'string') world.monitor.violation('a decision was accepted of a run that is not parked')
    }
  }
}
