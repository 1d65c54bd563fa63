/** Attends to every execution of this process, as AWS does: what others wrote about a run reaches the execution that it is about. */
import { setTimeout as sleep } from 'node:timers/promises'
import { asLoopError } from '../loop/errors.ts'
import { resumeRun } from '../loop/resume.ts'
import { executionName } from '../names.ts'
import type { LocalLoop } from './local-loop.ts'

const POLL_MS = 400

/** Goes on with every run that has not ended: whoever worked on it is gone, for this process owns the folder. Gives their ids. */
export const resumeAll = async ({ ports }: LocalLoop): Promise<string[]> => {
  const open = (await ports.runs.list()).filter(({ closed }) => !closed)
  for (const { runId } of open) await resumeRun(ports, runId)
  return open.map(({ runId }) => runId)
}

/** Stops an execution that no longer speaks for its run, and wakes one whose question was answered by another process. */
const attendTo = async ({ ports, engine }: LocalLoop, name: string): Promise<void> => {
  const run = await ports.runs.runs.read(name.slice(0, name.lastIndexOf('-')))
  if (!run || name !== executionName(run.runId, run.epoch)) return engine.stop(name)
  if (run.status === 'parked' && run.token && run.decision) await engine.wake(run.token)
}

/** Until the signal fires. What cannot be read now is looked at again in a moment. */
export const attend = async (loop: LocalLoop, signal: AbortSignal): Promise<void> => {
  const over = new Set<string>()
  const waiting = new Set<string>()
  while (!signal.aborted) {
    for (const name of loop.engine.names().filter((each) => !over.has(each))) {
      if (!waiting.has(name)) {
        waiting.add(name)
        const ended = () => over.add(name)
        void loop.engine.waitFor(name).then(ended, ended)
      }
      await attendTo(loop, name).catch((thrown: unknown) => {
        loop.ports.effects.log('warn', `${name}: ${asLoopError(thrown).message}`)
      })
    }
    await sleep(POLL_MS, undefined, { signal }).catch(() => {})
  }
}
