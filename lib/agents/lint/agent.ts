/** The embedded default: real linters as reviewer, their safe fixes as fixer. No model, no network, no configuration of the repository. */
import { readFileSync } from 'node:fs'
import { findPackageJSON } from 'node:module'
import type { Agent, AgentResult, AgentTurn } from '../../loop/agent.ts'
import { NO_TOKENS, openSession } from '../session-transcript.ts'
import { lintEntry } from './entries.ts'
import { fix } from './fix.ts'
import { Linters, Stopped, type LinterLimits } from './linters.ts'
import { review } from './review.ts'
import { rulesVersion } from './rules.ts'
import { Pace, type Work, type Worked } from './work.ts'

export interface LintOptions extends LinterLimits {
  /** How long before the deadline a turn stops at a checkpoint, in ms; at most a quarter of the time there is. */
  marginMs: number
  /** ms since 1970, for that margin. */
  now: () => number
}

const DEFAULTS: LintOptions = { memoryMb: 1024, fileMs: 30_000, marginMs: 20_000, now: () => Date.now() }
/** Kept between the last of the work and the deadline, to answer in. */
const ANSWER_MS = 500

/** Packages whose rules and fixes a remembered result depends on. */
const TOOLS = ['eslint', 'typescript-eslint', '@eslint/css', '@eslint/json', '@eslint/markdown', '@astral-sh/ruff-wasm-nodejs']

/** Versions of tools and rules. Throws where a tool is not installed. */
const versionOf = (): string => {
  const versions = TOOLS.map((tool) => {
    const found = findPackageJSON(tool, import.meta.url)
    if (found === undefined) throw new Error(`${tool} is not installed`)
    const { version } = JSON.parse(readFileSync(found, 'utf8')) as { version: string }
    return `${tool.replace(/^@[^/]*\//u, '')} ${version}`
  })
  return [...versions, `rules ${rulesVersion}`].join(', ')
}

/** Throws where a linter is not installed. */
export const createLintAgent = (options: Partial<LintOptions> = {}): Agent => {
  const settings = { ...DEFAULTS, ...options }
  const agent = { id: 'lint', version: versionOf() }
  return {
    ...agent,
    capabilities: { resume: true, ownIds: true, structuredOutput: true, checkpoint: true, edits: true },
    run: (turn) => serve(turn, agent, settings),
  }
}

const serve = async (turn: AgentTurn, agent: { id: string; version: string }, settings: LintOptions): Promise<AgentResult> => {
  const usage = { ...NO_TOKENS }
  if (turn.signal.aborted) return { kind: 'failed', ...failure(new Stopped('cancelled')), usage }
  const session = openSession(turn, agent, lintEntry)
  if ('lost' in session) return { kind: 'session_lost', reason: session.lost, usage }
  const linters = new Linters(settings, turn.deadline - ANSWER_MS, turn.signal)
  const pace = new Pace(turn.deadline, settings.marginMs, settings.now)
  try {
    const worked = await work({ turn, entries: session.entries, lint: (kind, text) => linters.lint(kind, text), pace })
    if (worked.kind === 'checkpoint') return { kind: 'checkpoint', usage, sessionId: session.id }
    return { kind: 'done', output: worked.output, usage, sessionId: turn.session.mode === 'none' ? null : session.id }
  } catch (error) {
    const outOfTime = error instanceof Stopped && error.why === 'deadline'
    if (outOfTime && pace.progressed) return { kind: 'checkpoint', usage, sessionId: session.id }
    return { kind: 'failed', ...failure(error), usage }
  } finally {
    linters.close()
  }
}

const work = (given: Work): Promise<Worked> => {
  const { prompt, role, edits } = given.turn
  const { task } = prompt
  if (task.kind !== 'fix' && role !== 'fixer') return review(given, task)
  if (task.kind === 'fix' && role === 'fixer' && edits) return fix(given, task, edits)
  throw new Error(`a ${role} was given a task of kind ${task.kind}${edits ? '' : ' without edit tools'}`)
}

const failure = (error: unknown): { error: 'AgentCancelled' | 'AgentTimedOut' | 'AgentFailed'; reason: string } => {
  if (!(error instanceof Stopped)) return { error: 'AgentFailed', reason: error instanceof Error ? error.message : String(error) }
  return error.why === 'cancelled'
    ? { error: 'AgentCancelled', reason: 'the turn was interrupted' }
    : { error: 'AgentTimedOut', reason: 'the linters did not end before the turn ran out of time' }
}
