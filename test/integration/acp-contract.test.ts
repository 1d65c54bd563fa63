/** The agent contract, with a small agent behind the protocol. */
import { describeAgentContract } from '../support/agent-contract.ts'
import { reviewTask } from '../support/agent-turn.ts'
import { smallAgent } from '../support/acp-agent/bench.ts'
import { diffTrees, MemoryFiles } from '../support/memory-files.ts'

/** How far the agent's clock is ahead. */
let ahead = 0

describeAgentContract(
  'acp',
  async () => {
    ahead = 0
    return smallAgent({}, { now: () => Date.now() + ahead })
  },
  {
    base: new MemoryFiles({ 'a.mjs': 'one\n' }),
    head: new MemoryFiles({ 'a.mjs': 'one\nbad a\n', 'b.mjs': 'bad b\n' }),
    // time is nearly over once a tool was called
    toCheckpoint: (turn) => ({ ...turn, progress: () => (ahead = 60_000) }),
    busy: (turn) => {
      const files = new MemoryFiles({ 'hang.mjs': 'bad\n' })
      return { ...turn, files, prompt: { kind: 'task', task: reviewTask(diffTrees(new MemoryFiles(), files)) } }
    },
  },
)
