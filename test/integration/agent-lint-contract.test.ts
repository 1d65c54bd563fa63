import { createLintAgent } from '../../lib/agents/lint/agent.ts'
import { describeAgentContract } from '../support/agent-contract.ts'
import { reviewTask } from '../support/agent-turn.ts'
import { diffTrees, MemoryFiles } from '../support/memory-files.ts'

/** How far the agent's clock is ahead. */
let ahead = 0

describeAgentContract('lint', async () => createLintAgent({ now: () => Date.now() + ahead }), {
  base: new MemoryFiles({ 'a.mjs': 'export const a = 1\n' }),
  head: new MemoryFiles({ 'a.mjs': 'export const a = 1\nexport let b = 2\n', 'b.mjs': 'export let c = 3\n' }),
  // the second file is read when the time is nearly over
  toCheckpoint: (turn) => {
    const read = async (path: string, maxBytes?: number): Promise<Uint8Array | null> => {
      ahead = path === 'b.mjs' ? 50_000 : 0
      return turn.files.read(path, maxBytes)
    }
    return { ...turn, files: { list: () => turn.files.list(), read } }
  },
  busy: (turn) => {
    const files = new MemoryFiles({ 'long.mjs': 'export const f = (a) => { if (a) { return [a, a, a, a, a] } }\n'.repeat(8000) })
    return { ...turn, files, prompt: { kind: 'task', task: reviewTask(diffTrees(new MemoryFiles(), files)) } }
  },
})
