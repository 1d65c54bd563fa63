/** An agent that does what a test tells it, call by call, and remembers how it was called. */
import type { Agent, AgentResult, Agents, AgentTurn, Capabilities } from '../../lib/loop/agent.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import type { Usage } from '../../lib/loop/record.ts'

export const usageOf = (input: number | null = 10, output: number | null = 5): Usage => ({
  input,
  output,
  cacheRead: 0,
  cacheWrite: null,
  dollars: null,
  calls: 1,
})

export const cleanReview = { findings: [], accounts: [], skipped: [], summary: 'nothing found' }
export const emptyFix = { results: [], summary: 'nothing done' }

/** The id that served a call, as a well-behaved agent gives it: the one it was asked for, or one of its own. */
export const servedId = ({ session }: AgentTurn, own: () => string): string | null => {
  if (session.mode === 'none') return null
  return session.id ?? own()
}

export type Step = AgentResult | ((turn: AgentTurn) => AgentResult | Promise<AgentResult>)
export interface Call {
  role: AgentTurn['role']
  turn: number
  session: AgentTurn['session']
  prompt: AgentTurn['prompt']
  /** The transcript as the call found it. */
  history: readonly unknown[]
  budget: AgentTurn['budget']
}

export class FakeAgent implements Agent {
  readonly id: string
  version = '1'
  capabilities: Capabilities = { resume: true, ownIds: false, structuredOutput: true, checkpoint: true, edits: true }
  readonly calls: Call[] = []
  /** What the next calls do; when it is empty, the agent finds nothing and does nothing. */
  readonly script: Step[] = []
  #sessions = 0

  constructor(id = 'fake', ...script: Step[]) {
    this.id = id
    this.script.push(...script)
  }

  /** Answers well: appends what it was asked to the transcript, like an agent that has a memory. */
  done(output: unknown): (turn: AgentTurn) => AgentResult {
    return (turn) => {
      turn.transcript.append({ turn: turn.turn, asked: turn.prompt.kind })
      return { kind: 'done', output, usage: usageOf(), sessionId: servedId(turn, () => this.newId()) }
    }
  }

  newId(): string {
    return `${this.id}-session-${++this.#sessions}`
  }

  async run(turn: AgentTurn): Promise<AgentResult> {
    const { role, session, prompt, budget } = turn
    this.calls.push({ role, turn: turn.turn, session, prompt, history: turn.transcript.history(), budget })
    const step = this.script.shift() ?? this.done(role === 'fixer' ? emptyFix : cleanReview)
    return typeof step === 'function' ? step(turn) : step
  }
}

/** Finds those of the given agents that are named. */
export const fakeAgents = (...agents: Agent[]): Agents => ({
  find: async (order) => {
    const [first, ...rest] = order.flatMap((name) => agents.filter((agent) => agent.id === name))
    if (!first) throw new LoopError('AgentUnavailable', `None of ${order.join(', ')} is here.`)
    return [first, ...rest]
  },
})
