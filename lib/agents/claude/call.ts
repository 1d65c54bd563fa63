/** One call of the SDK: what it is given, what it says, and how it is stopped. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Agent, AgentTurn } from '../../loop/agent.ts'
import { answerSchema } from '../../loop/prompts/answer-schema.ts'
import { SYSTEM } from '../../loop/prompts/system.ts'
import type { Pace } from '../pace.ts'
import { endTied, spawnTied, type TiedProcess } from '../tied-process.ts'
import type { Conversation } from './conversation.ts'
import type { Stop } from './entries.ts'
import { type ClaudeEnd, endMessage, failedAnswer, startMessage } from './messages.ts'
import type { AfterTool, ClaudeOptions, ClaudeSdk } from './sdk.ts'
import type { ClaudeSettings } from './settings.ts'
import type { Spent } from './spent.ts'
import { openSurroundings } from './surroundings.ts'
import { type WorkspaceTools, workspaceTools } from './workspace-tools.ts'

export interface Served {
  agent: Pick<Agent, 'id' | 'version'>
  settings: ClaudeSettings
  sdk: ClaudeSdk
  key: () => Promise<string>
  retries: number
  pace: Pace
}

export interface Talk extends Served {
  turn: AgentTurn
  conversation: Conversation
  spent: Spent
  /** The session, or what stands for one in a turn without. */
  id: string
  /** null: it goes on from where it `stopped`. */
  prompt: string | null
  stopped: Stop | null
}

/** Longer than the SDK takes to write an answer down. */
const WRITTEN_MS = 2000
/** What the tool may need to end by itself, where it was not cut off. */
const END_MS = 2000
/** The model finds it in the conversation where it was stopped. */
const STOPPED = 'The turn goes on later.'
const ANSWER_NOTE =
  'Work with the tools. When you are done, give the result by StructuredOutput; nothing else that you say reaches anybody.'
/** The root: the tool tells the model where it works, and says so again where that changes. */
const WORKING_FOLDER = '/'

/** Why we ended it ourselves. */
type Halt = { kind: 'checkpoint' } | { kind: 'tokens' } | { kind: 'broken'; reason: string } | { kind: 'late' } | { kind: 'other-session' }

/** A call takes in all of the conversation. */
export const exhausted = ({ turn: { budget }, spent }: Talk): 'tokens' | 'dollars' | 'turn_calls' | null => {
  if (budget.tokens <= 0 || spent.tokens + spent.context > budget.tokens) return 'tokens'
  return budget.dollars <= 0 ? 'dollars' : budget.calls <= 0 ? 'turn_calls' : null
}

export class Call {
  readonly #given: Talk
  readonly #controller = new AbortController()
  readonly #ended = Promise.withResolvers<void>()
  halted: Halt | null = null
  end: ClaudeEnd | null = null
  /** Kind of the last failed call of the model. */
  failure: string | null = null
  /** What was thrown or said where there was no end. */
  said = ''
  #process: TiedProcess | null = null

  constructor(given: Talk) {
    this.#given = given
  }

  cut(): void {
    this.#controller.abort()
  }

  /** The first reason stands. */
  halt(halt: Halt): void {
    this.halted ??= halt
    if (halt.kind !== 'checkpoint' && halt.kind !== 'tokens') this.cut()
  }

  async run(): Promise<void> {
    const { sdk, settings, key, retries, stopped, turn } = this.#given
    await using home = await openSurroundings(settings, { key, retries, interrupted: stopped === 'within' })
    const tools = workspaceTools(sdk, turn, (error) =>
      this.halt({ kind: 'broken', reason: error instanceof Error ? error.message : String(error) }),
    )
    try {
      for await (const message of sdk.query({ prompt: this.#prompt(), options: this.#options(home.environment, tools) }))
        this.#take(message)
    } catch (error) {
      // It throws what it has said at its end as well.
      this.said = `${error instanceof Error ? error.message : String(error)} ${this.said}`.trim()
    } finally {
      this.#ended.resolve()
      // Before its home goes: one that is still there would write into the next turn's time.
      if (this.#process) await endTied(this.#process, this.#controller.signal.aborted ? 0 : END_MS)
    }
  }

  #take(message: unknown): void {
    const start = startMessage.safeParse(message)
    if (start.success && start.data.session_id !== this.#given.id) this.halt({ kind: 'other-session' })
    const failed = failedAnswer.safeParse(message)
    if (failed.success) this.failure = failed.data.error
    const end = endMessage.safeParse(message)
    if (!end.success) return
    this.end = end.data
    this.#given.spent.end(end.data)
    this.#ended.resolve()
  }

  /** Nothing to say: the tool goes on by itself where it was stopped, and where it was cut off once it sees that nothing comes. */
  #prompt(): string | AsyncIterable<never> {
    const { prompt, stopped } = this.#given
    return prompt ?? (stopped === 'within' ? silenceUntil(this.#ended.promise) : '')
  }

  #afterTool: AfterTool = async (_input, toolUseId) => {
    const { pace, conversation } = this.#given
    // What has been used so far is known from what was written down.
    if (toolUseId !== undefined) await Promise.race([conversation.answered(toolUseId), wait(WRITTEN_MS, undefined, { ref: false })])
    if (exhausted(this.#given) === 'tokens') this.halt({ kind: 'tokens' })
    else if (pace.isShort) this.halt({ kind: 'checkpoint' })
    return this.halted ? { continue: false, stopReason: STOPPED } : { continue: true }
  }

  #options(env: Record<string, string>, tools: WorkspaceTools): ClaudeOptions {
    const { settings, turn, id, conversation, spent } = this.#given
    return {
      abortController: this.#controller,
      cwd: WORKING_FOLDER,
      env,
      model: settings.model,
      ...(settings.effort === null ? {} : { effort: settings.effort }),
      systemPrompt: `${SYSTEM[turn.role]}\n\n${ANSWER_NOTE}`,
      tools: [],
      allowedTools: tools.names,
      permissionMode: 'dontAsk',
      mcpServers: tools.servers,
      strictMcpConfig: true,
      settingSources: [],
      skills: [],
      hooks: { PostToolUse: [{ matcher: 'mcp__.*', hooks: [this.#afterTool] }] },
      verbatimPrompts: true,
      outputFormat: { type: 'json_schema', schema: answerSchema(turn.prompt.task) },
      maxTurns: turn.budget.calls,
      maxBudgetUsd: turn.budget.dollars,
      ...(conversation.before.length > 0 ? { resume: id } : { sessionId: id }),
      sessionStore: conversation.store((line) => spent.see(line)),
      sessionStoreFlush: 'eager',
      spawnClaudeCodeProcess: (command) => (this.#process = spawnTied(command, (text) => (this.said = (this.said + text).slice(-1000)))),
    }
  }
}

const silenceUntil = (ended: Promise<void>): AsyncIterable<never> => ({
  [Symbol.asyncIterator]: () => ({
    next: async () => {
      await ended
      return { done: true, value: undefined }
    },
  }),
})
