/** What ends the wait for an agent: time, a cap, a person, a broken tool. The first of them counts. */
import type { AgentTurn } from '../../loop/agent.ts'
import type { AcpSpent } from './spent.ts'

export type Cap = 'tokens' | 'dollars' | 'turn_calls'
export type Stop = { kind: 'time' } | { kind: 'limit'; limit: Cap } | { kind: 'cancelled' } | { kind: 'broken'; error: unknown }

/** Of the time there is, what is kept to end the agent and to pack its sessions. */
const END_MS = 12_000
const END_PART = 0.2

export class Stops implements Disposable {
  readonly #first = Promise.withResolvers<Stop>()
  readonly #turn: Pick<AgentTurn, 'signal' | 'budget'>
  readonly #spent: AcpSpent
  readonly #now: () => number
  readonly #end: number
  readonly #timer: NodeJS.Timeout
  /** ms from the stop to the deadline. */
  readonly margin: number
  #stop: Stop | null = null

  constructor(turn: Pick<AgentTurn, 'signal' | 'budget' | 'deadline'>, spent: AcpSpent, now: () => number) {
    const all = Math.max(0, turn.deadline - now())
    this.#turn = turn
    this.#spent = spent
    this.#now = now
    this.margin = Math.min(END_MS, all * END_PART)
    this.#end = turn.deadline - this.margin
    this.#timer = setTimeout(() => this.add({ kind: 'time' }), Math.min(all - this.margin, 2 ** 31 - 1))
    turn.signal.addEventListener('abort', this.#abort)
    if (turn.signal.aborted) this.#abort()
  }

  readonly #abort = (): void => this.add({ kind: 'cancelled' })

  add(stop: Stop): void {
    this.#stop ??= stop
    this.#first.resolve(this.#stop)
  }

  /** To be called whenever something was heard of the agent. */
  look(): void {
    if (this.#now() >= this.#end) this.add({ kind: 'time' })
    const cap = capOf(this.#spent, this.#turn.budget)
    if (cap) this.add({ kind: 'limit', limit: cap })
  }

  /** The stop that there was. */
  happened(): Stop | null {
    return this.#stop
  }

  get first(): Promise<Stop> {
    return this.#first.promise
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#turn.signal.removeEventListener('abort', this.#abort)
  }
}

/** The cap that what was used has gone past, as far as the agent tells of it. */
const capOf = ({ tokens, dollars, calls }: AcpSpent, budget: AgentTurn['budget']): Cap | null => {
  if (tokens > budget.tokens) return 'tokens'
  if ((dollars ?? 0) > budget.dollars) return 'dollars'
  return calls > budget.calls ? 'turn_calls' : null
}
