/** Following a run until it ends or waits for a person, whoever moves it: this process's engine, or another process. */
import { setTimeout as sleep } from 'node:timers/promises'
import { readRun } from '../loop/current-run.ts'
import { decideRun } from '../loop/decide.ts'
import type { Answer } from '../loop/decision.ts'
import { asLoopError, LoopError } from '../loop/errors.ts'
import type { RunItem } from '../loop/items.ts'
import { executionName } from '../names.ts'
import type { LocalLoop } from './local-loop.ts'

export interface Asking {
  /** Asks the person; null leaves the run parked. The signal fires when the question was answered elsewhere or its time is over. */
  ask: (run: RunItem, signal: AbortSignal) => Promise<Answer | null>
  by: string
  /** Something the person should know. */
  tell: (message: string) => void
}

const POLL_MS = 250
/** How long another process may take to close a run that it has taken over. */
const CLOSING_MS = 15_000

/** Whether nothing will happen to the run until somebody does something. */
const rests = (run: RunItem): boolean => run.status === 'ended' || (run.status === 'parked' && !run.decision)

const isHere = (loop: LocalLoop, run: RunItem): boolean => loop.engine.names().includes(executionName(run.runId, run.epoch))

/**
 * Gives the run item once the run has ended or is parked. With `asking`, a parked run asks in this process.
 * Errors: Interrupted when the engine was; RunNotFound.
 */
export const follow = async (loop: LocalLoop, runId: string, asking: Asking | null): Promise<RunItem> => {
  for (;;) {
    const run = await readRun(loop.ports.runs, runId)
    if (!isHere(loop, run)) {
      const left = await followElsewhere(loop, runId)
      if (isHere(loop, left)) continue
      return left
    }
    const over = new AbortController()
    const watched = watch(loop, run, asking, over.signal)
    const end = await loop.engine.waitFor(executionName(runId, run.epoch)).finally(() => over.abort())
    await watched
    const after = await readRun(loop.ports.runs, runId)
    if (after.status === 'ended') return after
    if (end?.kind === 'stopped' && after.epoch === run.epoch) throw new LoopError('Interrupted', `Run ${runId} was interrupted.`, { runId })
    // Taken over by an execution that waits for an answer here, it does not rest.
    if (after.epoch === run.epoch || (rests(after) && !isHere(loop, after))) return after
  }
}

/** The run is in the hands of another process: it is waited for until it rests, that process lets go, or it goes on here. */
const followElsewhere = async (loop: LocalLoop, runId: string): Promise<RunItem> => {
  const until = Date.now() + CLOSING_MS
  for (;;) {
    const run = await readRun(loop.ports.runs, runId)
    if (rests(run) || isHere(loop, run) || Date.now() > until) return run
    await sleep(POLL_MS)
  }
}

/**
 * Looks at the run item while an execution goes on here: asks, wakes the execution for answers from elsewhere, and stops it when it no
 * longer speaks for the run.
 */
const watch = async (loop: LocalLoop, before: RunItem, asking: Asking | null, over: AbortSignal): Promise<void> => {
  const open = new Map<string, AbortController>()
  const work: Promise<void>[] = []
  while (!over.aborted) {
    // What cannot be read now is looked at again in a moment: the execution, which needs the store as well, says when that is an end.
    const run = await readRun(loop.ports.runs, before.runId).catch(() => before)
    const { question, decision, token } = run
    if (run.epoch !== before.epoch) await loop.engine.stop(executionName(run.runId, before.epoch))
    else if (asking && run.status === 'parked' && question && token) {
      if (decision || Date.now() >= Date.parse(question.expiresAt)) {
        open.get(question.id)?.abort()
        await loop.engine.wake(token)
      } else if (!open.has(question.id)) {
        const controller = new AbortController()
        open.set(question.id, controller)
        const asked = askOnce(loop, run, question.id, asking, AbortSignal.any([controller.signal, over]))
        work.push(asked.catch((error: unknown) => asking.tell(asLoopError(error).message)))
      }
    }
    await sleep(POLL_MS, undefined, { signal: over }).catch(() => {})
  }
  for (const controller of open.values()) controller.abort()
  await Promise.all(work)
}

const askOnce = async (loop: LocalLoop, run: RunItem, question: string, asking: Asking, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    const answer = await asking.ask(run, signal)
    if (signal.aborted) {
      const now = await readRun(loop.ports.runs, run.runId)
      if (now.decision) asking.tell(`Answered elsewhere, by ${now.decision.by ?? 'nobody: the time is over'}: ${now.decision.answer.kind}.`)
      return
    }
    if (!answer) return loop.engine.leave(executionName(run.runId, run.epoch))
    try {
      await decideRun(loop.ports, run.runId, { question, answer, by: asking.by })
      return
    } catch (thrown) {
      const error = asLoopError(thrown)
      // Whatever it is, the question still stands and is asked again.
      asking.tell(`${error.message} ${error.entry.remedy}`)
      if (error.name === 'StaleDecision') return
    }
  }
}
