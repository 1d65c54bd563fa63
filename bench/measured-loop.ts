/** The loop as `reviewloop run` has it, over a folder of its own, with what it does counted: real git, real table, real artifacts. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { createScriptedAgent } from '../lib/agents/scripted/agent.ts'
import type { Scenario } from '../lib/agents/scripted/scenario.ts'
import { openDataFolder } from '../lib/local/data-folder.ts'
import { openLoop } from '../lib/local/local-loop.ts'
import type { Agent } from '../lib/loop/agent.ts'
import { startRun } from '../lib/loop/start.ts'
import { executionName, STATE_OF_ROLE } from '../lib/names.ts'
import { socketClient } from '../lib/stores/dynamodb/client.ts'
import { dynamoRuns } from '../lib/stores/dynamodb/runs.ts'
import { dynamoSessions } from '../lib/stores/dynamodb/sessions.ts'
import { temporaryFolder } from '../test/support/git-repository.ts'

export interface Measured {
  /** States entered, Route and the ends included: what Step Functions counts as transitions. */
  transitions: number
  /** Milliseconds in each state, agents included. */
  inState: { state: string; milliseconds: number }[]
  /** Milliseconds in the agent, by the state of its role. */
  inAgent: { state: string; milliseconds: number }[]
  /** Commands that the SDK sent, as `Sessions GetItem`. */
  commands: string[]
}

export interface Branch {
  repository: string
  branch: string
  base: string
  head: string
}

const empty = (): Measured => ({ transitions: 0, inState: [], inAgent: [], commands: [] })

const timed = (agent: Agent, now: () => Measured): Agent => ({
  ...agent,
  run: async (turn) => {
    const started = performance.now()
    const result = await agent.run(turn)
    now().inAgent.push({ state: STATE_OF_ROLE[turn.role], milliseconds: performance.now() - started })
    return result
  },
})

/** Opens a loop for `use` and takes it away after. `run` answers how a run ended. */
export const withLoop = async <T>(
  scenario: Scenario,
  use: (loop: { run: (branch: Branch) => Promise<string>; measured: () => Measured }) => Promise<T>,
): Promise<T> => {
  const path = await temporaryFolder('reviewloop-bench-')
  const folder = await openDataFolder(join(path, 'data'))
  let measured = empty()
  const loop = await openLoop(folder, {
    waits: false,
    onEvent: (event) => {
      if (event.kind === 'entered') measured.transitions++
      if (event.kind === 'left') measured.inState.push(event)
    },
  })
  const client = socketClient(folder.socket)
  client.middlewareStack.add(
    (next, context) => (args) => {
      const { TableName } = args.input as { TableName?: string }
      measured.commands.push(`${TableName ?? ''} ${String(context.commandName).replace(/Command$/, '')}`)
      return next(args)
    },
    { step: 'initialize' },
  )
  const agent = timed(createScriptedAgent(scenario), () => measured)
  loop.ports.sessions = dynamoSessions({ client, table: 'Sessions' })
  loop.ports.runs = dynamoRuns({ client, table: 'Runs' })
  loop.ports.agents = { find: async () => [agent] }
  const run = async ({ repository, branch, base, head }: Branch): Promise<string> => {
    const request = { repository, branch, base, head, overrides: { rounds: 5, ask: 'never' as const }, attempt: 1, publishTo: null }
    const { run: item } = await startRun(loop.ports, { request, startedBy: 'bench', checkHead: true })
    const end = await loop.engine.waitFor(executionName(item.runId, item.epoch))
    const { verdict } = (await loop.ports.runs.runs.read(item.runId)) ?? item
    return `${end?.kind ?? 'not started'}: ${verdict?.outcome ?? 'no verdict'} (${verdict?.reason ?? ''}${verdict?.error ?? ''})`
  }
  const takeMeasured = (): Measured => {
    const taken = measured
    measured = empty()
    return taken
  }
  try {
    return await use({ run, measured: takeMeasured })
  } finally {
    loop.close()
    client.destroy()
    await folder.close()
    await rm(path, { recursive: true, force: true })
  }
}
