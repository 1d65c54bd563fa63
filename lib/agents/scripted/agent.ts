/** Plays a scenario instead of working: for tests and demos of everything around an agent. */
import { writeFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import * as z from 'zod'
import type { Agent, AgentResult, AgentTurn, FixTask, ReviewTask, SessionUse } from '../../loop/agent.ts'
import { asLoopError } from '../../loop/errors.ts'
import type { FixOutput, ReviewOutput } from '../../loop/output.ts'
import type { EditFiles } from '../../loop/workspace.ts'
import { NO_TOKENS, openSession } from '../session-transcript.ts'
import type { Scenario, Step } from './scenario.ts'

const entry = z.strictObject({ type: z.literal('turn'), turn: z.int().min(1) })

/**
 * An agent that plays `scenario`. Its place is the turn's number in the run, so any process finds it. How often a turn failed is counted
 * in this process; a crash leaves a mark at `<file>.<run>.<turn>.crashed`, and happens once.
 * @param file Path of the scenario; null where there is none, and then a crash happens every time.
 */
export const createScriptedAgent = (scenario: Scenario, file: string | null = null): Agent => {
  const { version, capabilities } = scenario
  const failures = new Map<string, number>()
  const agent = { id: 'scripted', version }
  return {
    ...agent,
    capabilities,
    run: async (turn) => {
      const step = scenario.turns[turn.turn] ?? scenario.otherwise[turn.role]
      try {
        return await play(turn, step, { agent, file, failures })
      } catch (error) {
        return { kind: 'failed', ...failureOf(error, turn.signal), usage: usageOf(step) }
      }
    },
  }
}

interface Stage {
  agent: { id: string; version: string }
  file: string | null
  failures: Map<string, number>
}

const usageOf = ({ usage }: Step) => ({
  ...NO_TOKENS,
  ...Object.fromEntries(Object.entries(usage).filter(([, value]) => value !== undefined)),
})

const failureOf = (error: unknown, signal: AbortSignal): { error: 'AgentCancelled' | 'AgentFailed'; reason: string } =>
  signal.aborted
    ? { error: 'AgentCancelled', reason: 'the turn was interrupted' }
    : { error: 'AgentFailed', reason: asLoopError(error).message }

const play = async (turn: AgentTurn, step: Step, stage: Stage): Promise<AgentResult> => {
  const { session, prompt, signal } = turn
  const usage = usageOf(step)
  signal.throwIfAborted()
  if (step.role && step.role !== turn.role) throw new Error(`the scenario has turn ${turn.turn} for the ${step.role}, not the ${turn.role}`)
  const opened = openSession(turn, stage.agent, entry)
  if ('lost' in opened) return { kind: 'session_lost', reason: opened.lost, usage }
  turn.transcript.append({ type: 'turn', turn: turn.turn })
  const late = await delay(step.delay_ms, turn)
  if (late) return { ...late, usage }
  if (step.crash) crashOnce(turn, stage.file)

  const fate = session.mode === 'resume' ? step.on_resume : session.mode === 'start' ? step.on_start : undefined
  if (fate === 'lost') return { kind: 'session_lost', reason: 'the scenario has the session lost', usage }
  const failed = failing(turn, step, stage.failures)
  if (failed) return { ...failed, usage }
  if (step.refuse) return { kind: 'refused', reason: step.refuse, usage }

  if (prompt.kind !== 'repair') await makeEdits(step, turn.edits)
  const sessionId = fate === 'other' ? globalThis.crypto.randomUUID() : idFor(session, opened.id)
  if (step.checkpoint) return { kind: 'checkpoint', usage, sessionId: sessionId ?? opened.id }
  if (step.limit) return { kind: 'limit', limit: step.limit, usage, sessionId }
  return { kind: 'done', output: outputOf(turn, step), usage, sessionId }
}

const idFor = (session: SessionUse, id: string): string | null => (session.mode === 'none' ? null : id)

/** Waits, but not past the deadline. */
const delay = async (
  ms: number,
  { deadline, signal }: AgentTurn,
): Promise<{ kind: 'failed'; error: 'AgentTimedOut'; reason: string } | null> => {
  const left = Math.max(0, deadline - Date.now())
  if (ms > 0) await wait(Math.min(ms, left), undefined, { signal })
  return ms > left ? { kind: 'failed', error: 'AgentTimedOut', reason: 'the scenario is slower than the turn may be' } : null
}

const crashOnce = ({ runId, turn }: AgentTurn, file: string | null): void => {
  if (file !== null) {
    try {
      writeFileSync(`${file}.${runId}.${turn}.crashed`, '', { flag: 'wx' })
    } catch {
      return
    }
  }
  process.kill(process.pid, 'SIGKILL')
}

const failing = ({ runId, turn, role }: AgentTurn, { fail }: Step, failures: Map<string, number>) => {
  if (!fail) return null
  const key = `${runId}#${role}#${turn}`
  const before = failures.get(key) ?? 0
  if (fail.times !== undefined && before >= fail.times) return null
  failures.set(key, before + 1)
  return { kind: 'failed' as const, error: fail.error, reason: fail.reason }
}

const makeEdits = async (step: Step, edits: EditFiles | null): Promise<void> => {
  if (step.edits.length === 0) return
  if (!edits) throw new Error('the scenario has edits for a role that only reads')
  for (const edit of step.edits) {
    if ('write' in edit) await edits.write(edit.write, new TextEncoder().encode(edit.content))
    else if ('replace' in edit) await edits.edit(edit.replace, edit.before, edit.after)
    else await edits.remove(edit.remove)
  }
}

const outputOf = ({ prompt }: AgentTurn, step: Step): unknown => {
  const { malformed } = step
  if (malformed && (prompt.kind !== 'repair' || !malformed.repaired)) return malformed.output
  return prompt.task.kind === 'fix' ? fixOf(prompt.task, step) : reviewOf(prompt.task, step)
}

const names = (which: 'all' | string[] | undefined, rule: string): boolean => which === 'all' || (which ?? []).includes(rule)

const fixOf = ({ findings }: FixTask, { not_fixed, note, summary }: Step): FixOutput => ({
  results: findings.map(({ id, rule }) => ({ id, status: names(not_fixed, rule) ? 'not-fixed' : 'fixed', ...(note ? { note } : {}) })),
  summary,
})

const reviewOf = ({ outstanding }: ReviewTask, { findings, accounts, skipped, note, summary }: Step): ReviewOutput => ({
  findings,
  accounts: [
    ...outstanding.flatMap(({ id, rule }) => {
      const status = (['open', 'withdrawn', 'fixed'] as const).find((one) => names(accounts[one], rule))
      return status ? [{ id, status, ...(note ? { note } : {}) }] : []
    }),
    ...accounts.ids,
  ],
  skipped,
  summary,
})
