/** Whole runs whose roles are an agent with a model server behind it: stores and working copies in memory, every turn an agent of its own. */
import type { Agent, AgentTurn } from '../../../lib/loop/agent.ts'
import { asLoopError, type LoopError } from '../../../lib/loop/errors.ts'
import type { RunRecord } from '../../../lib/loop/record.ts'
import type { RunState } from '../../../lib/loop/run.ts'
import { loadRecord } from '../../../lib/loop/run-record.ts'
import type { Step } from '../../../lib/names.ts'
import { takeStep } from '../drive.ts'
import { FakeWorkspaces } from '../fake-workspace.ts'
import { makePorts } from '../ports.ts'
import { aRun } from '../runs.ts'

const makeFakes = () => makePorts()
type Fakes = ReturnType<typeof makeFakes>

export interface RunBench<Request> {
  server: { requests: Request[] }
  agent(settings: Record<string, string>, options: { now: () => number }): Agent | Promise<Agent>
}

export interface AgentRunOptions {
  base?: Record<string, string>
  head: Record<string, string>
  /** Overrides of the request. */
  overrides?: Record<string, unknown>
  settings?: Record<string, string>
  /** Before each step; may change what is stored. */
  before?: (step: Step, ports: Fakes, state: RunState) => void
  /** Every invocation stops at a checkpoint after its first call. */
  oneCall?: boolean
  /** Whether a step that failed is taken again, as the state machine would; none is, unless said. */
  again?: (error: LoopError) => boolean
  /** ms between two steps; a minute, unless said. */
  stepMs?: number
}

export interface AgentRun<Request> {
  state: RunState
  steps: Step[]
  record: RunRecord
  /** The requests of each turn that was taken, by its number in the run. */
  requests: Map<number, { role: AgentTurn['role']; requests: Request[] }>
  ports: Fakes
}

/** Drives to an end, or to where a person is asked. `clock` is given the run's clock; `name` is the agent's. */
export const agentRun = async <Request>(
  bench: RunBench<Request>,
  options: AgentRunOptions,
  { name, clock = () => undefined }: { name: string; clock?: (now: () => number) => void },
): Promise<AgentRun<Request>> => {
  const { base = {}, head, overrides = {}, settings = {}, before, oneCall = false, again = () => false, stepMs = 60_000 } = options
  const requests: AgentRun<Request>['requests'] = new Map()
  const makeAgent = async (): Promise<Agent> => {
    let ahead = 0
    const agent = await bench.agent(settings, { now: () => ports.effects.now() + ahead })
    return {
      ...agent,
      run: async (turn) => {
        const seen = bench.server.requests.length
        const progress = (): void => {
          if (oneCall) ahead = 1e9
        }
        try {
          return await agent.run({ ...turn, progress })
        } finally {
          const known = requests.get(turn.turn)?.requests ?? []
          requests.set(turn.turn, { role: turn.role, requests: [...known, ...bench.server.requests.slice(seen)] })
        }
      },
    }
  }
  const ports = makeFakes()
  clock(ports.effects.now)
  Object.assign(ports, {
    workspaces: new FakeWorkspaces({ base, head }),
    agents: { find: async () => [await makeAgent()] },
    defaultAgents: [name],
  })
  const { state: start } = await aRun(ports, { overrides })
  const steps: Step[] = []
  let state = start
  while (!['Done', 'Failed', 'Park'].includes(state.next)) {
    before?.(state.next, ports, state)
    steps.push(state.next)
    state = await takeStep(ports, state).catch((error: unknown) => {
      if (!again(asLoopError(error))) throw error
      return state
    })
    ports.effects.advance(stepMs)
  }
  return { state, steps, record: await loadRecord(ports, state), requests, ports }
}
