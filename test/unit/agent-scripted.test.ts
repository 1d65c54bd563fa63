import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createScriptedAgent } from '../../lib/agents/scripted/agent.ts'
import { parseScenario, readScenario } from '../../lib/agents/scripted/scenario.ts'
import type { AgentTurn } from '../../lib/loop/agent.ts'
import { describeAgentContract } from '../support/agent-contract.ts'
import { agentTurn, fixTask, MemoryTranscript, reviewTask, tracked } from '../support/agent-turn.ts'
import { MemoryFiles } from '../support/memory-files.ts'

const agentOf = (yaml: string) => createScriptedAgent(parseScenario(yaml, 'scenario.yaml'))

describeAgentContract(
  'scripted',
  async () =>
    agentOf(`
turns:
  7: { checkpoint: true }
  8: { delay_ms: 20000 }
otherwise:
  reviewer: { findings: [{ rule: r, severity: error, action: auto-fix, file: a.txt, line: 1, text: wrong }] }
  fixer: { edits: [{ write: a.txt, content: right }] }
`),
  {
    base: new MemoryFiles({}),
    head: new MemoryFiles({ 'a.txt': 'wrong\n', 'b.txt': 'b\n' }),
    toCheckpoint: (turn) => ({ ...turn, turn: 7 }),
    busy: (turn) => ({ ...turn, turn: 8 }),
  },
)

describe('a scenario', () => {
  const files = new MemoryFiles({ 'a.txt': 'one two\n' })
  const outstanding = tracked(
    ['x', 'y', 'z'].map((rule) => ({ rule, severity: 'error' as const, file: 'a.txt', line: 1, text: rule })),
    files,
  )
  const look = (more: Partial<AgentTurn> = {}) => agentTurn(reviewTask([], outstanding), files, more)
  const resumed = (agent: ReturnType<typeof agentOf>, role: AgentTurn['role'] = 'reviewer'): Pick<AgentTurn, 'session' | 'transcript'> => ({
    session: { mode: 'resume', id: 's' },
    transcript: new MemoryTranscript([{ type: 'session', id: 's', role, agent: 'scripted', version: agent.version }]),
  })

  it('is found at the number of the turn, by an agent that has seen none before it', async () => {
    const yaml = 'turns:\n  3: { summary: third }\notherwise:\n  reviewer: { summary: other }\n'
    expect(await agentOf(yaml).run(look({ turn: 3 }))).toMatchObject({ output: { summary: 'third' } })
    expect(await agentOf(yaml).run(look({ turn: 4 }))).toMatchObject({ output: { summary: 'other' } })
  })

  it('is not played by another role', async () => {
    expect(await agentOf('turns:\n  1: { role: fixer }\n').run(look())).toMatchObject({ kind: 'failed', error: 'AgentFailed' })
  })

  it('accounts for findings by rule, and passes over the rest', async () => {
    const result = await agentOf('turns:\n  1: { accounts: { open: [x], fixed: [y] }, note: n }\n').run(look())
    expect(result).toMatchObject({
      output: {
        accounts: [
          { id: outstanding[0]?.id, status: 'open', note: 'n' },
          { id: outstanding[1]?.id, status: 'fixed' },
        ],
      },
    })
  })

  it('edits, and says what it did not fix', async () => {
    const work = files.copy()
    const yaml = `
turns:
  2:
    edits: [{ replace: a.txt, before: two, after: three }, { write: b.txt, content: b }, { remove: c.txt }]
    not_fixed: [y]
`
    const result = await agentOf(yaml).run(agentTurn(fixTask([], outstanding), work, { turn: 2 }))
    expect(result).toMatchObject({ output: { results: [{ status: 'fixed' }, { status: 'not-fixed' }, { status: 'fixed' }] } })
    expect([work.text('a.txt'), work.touched]).toEqual(['one three\n', ['a.txt', 'b.txt', 'c.txt']])
  })

  it('loses a resumed session, and plays on in a fresh one', async () => {
    const agent = agentOf('turns:\n  1: { on_resume: lost }\n')
    expect(await agent.run(look(resumed(agent)))).toMatchObject({ kind: 'session_lost' })
    expect(await agent.run(look({ session: { mode: 'start', id: 't' } }))).toMatchObject({ kind: 'done', sessionId: 't' })
  })

  it('answers under another id', async () => {
    const agent = agentOf('turns:\n  1: { on_resume: other }\n')
    const result = await agent.run(look(resumed(agent)))
    expect(result).toMatchObject({ kind: 'done', sessionId: expect.stringMatching(/.{36}/u) })
  })

  it('throttles so many times', async () => {
    const agent = agentOf('turns:\n  1: { fail: { error: AgentThrottled, times: 2 } }\n')
    const kinds = []
    for (let attempt = 0; attempt < 3; attempt++) kinds.push((await agent.run(look())).kind)
    expect(kinds).toEqual(['failed', 'failed', 'done'])
  })

  it.each([
    ['refuse: no', { kind: 'refused', reason: 'no' }],
    ['limit: tokens', { kind: 'limit', limit: 'tokens' }],
    ['usage: { input: 5, cacheRead: null }', { usage: { input: 5, output: 0, cacheRead: null } }],
    ['malformed: { output: 7 }', { output: 7 }],
  ])('plays %s', async (line, expected) => {
    expect(await agentOf(`turns:\n  1: { ${line} }\n`).run(look())).toMatchObject(expected)
  })

  it.each([
    [true, { findings: [] }],
    [false, 7],
  ])('repairs its answer or does not: %s', async (repaired, output) => {
    const agent = agentOf(`turns:\n  1: { malformed: { output: 7, repaired: ${repaired} } }\n`)
    const turn = look(resumed(agent))
    expect(await agent.run({ ...turn, prompt: { kind: 'repair', task: turn.prompt.task, problem: 'p' } })).toMatchObject({ output })
  })

  it('is slower than the turn may be', async () => {
    const result = await agentOf('turns:\n  1: { delay_ms: 20000 }\n').run(look({ deadline: Date.now() + 20 }))
    expect(result).toMatchObject({ kind: 'failed', error: 'AgentTimedOut' })
  })

  it('has an example that is valid', async () => {
    const file = fileURLToPath(new URL('../../examples/scenarios/two-rounds.yaml', import.meta.url))
    expect(Object.keys((await readScenario(file)).turns)).toEqual(['1', '2', '3', '4', '5'])
  })

  it('ends the process once, and then goes on', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'scripted-'))
    try {
      const [scenario, program] = [join(folder, 's.yaml'), join(folder, 'play.ts')]
      const lib = new URL('../../lib/agents/', import.meta.url).href
      const support = new URL('../support/', import.meta.url).href
      await writeFile(scenario, 'turns:\n  1: { crash: true, summary: alive }\n')
      await writeFile(
        program,
        `import { createScriptedAgent } from '${lib}scripted/agent.ts'
import { readScenario } from '${lib}scripted/scenario.ts'
import { agentTurn, reviewTask } from '${support}agent-turn.ts'
const result = await createScriptedAgent(await readScenario(process.argv[2]), process.argv[2]).run(agentTurn(reviewTask([])))
console.log(result.output.summary)
`,
      )
      const play = () => spawnSync(process.execPath, [program, scenario], { encoding: 'utf8' })
      expect(play().signal).toBe('SIGKILL')
      expect(existsSync(`${scenario}.r-0123456789abcdef.1.crashed`)).toBe(true)
      expect(play().stdout).toBe('alive\n')
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
