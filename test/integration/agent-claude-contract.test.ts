/** The agent contract, through the real SDK and its command-line tool. */
import { describeAgentContract } from '../support/agent-contract.ts'
import { reviewTask } from '../support/agent-turn.ts'
import { diffTrees, MemoryFiles } from '../support/memory-files.ts'
import { claudeBench } from '../support/model-server/claude-agent.ts'
import { plainModel } from '../support/model-server/plain-model.ts'

const bench = claudeBench()
/** How far the agent's clock is ahead. */
let ahead = 0

const model: ReturnType<typeof plainModel> = (request, call) =>
  request.raw.includes('hang.mjs') ? { broken: 'hang' } : plainModel({ oneByOne: true })(request, call)

describeAgentContract(
  'claude',
  async () => {
    ahead = 0
    bench.server.model = model
    return bench.agent({}, { now: () => Date.now() + ahead })
  },
  {
    base: new MemoryFiles({ 'a.mjs': 'one\n' }),
    head: new MemoryFiles({ 'a.mjs': 'one\nbad a\n', 'b.mjs': 'bad b\n' }),
    // time is nearly over once a tool was called
    toCheckpoint: (turn) => ({ ...turn, progress: () => (ahead = 50_000) }),
    busy: (turn) => {
      const files = new MemoryFiles({ 'hang.mjs': 'bad\n' })
      return { ...turn, files, prompt: { kind: 'task', task: reviewTask(diffTrees(new MemoryFiles(), files)) } }
    },
  },
)
