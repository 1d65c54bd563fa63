/** What a turn of the agent sends: tools by role, parts of a large change, caching, and nothing twice. */
import { describe, expect, it } from 'vitest'
import type { AgentTurn } from '../../lib/loop/agent.ts'
import { reviewOutput } from '../../lib/loop/output.ts'
import { agentTurn, fixTask, MemoryTranscript, reviewTask, tracked } from '../support/agent-turn.ts'
import { diffTrees, fileDiff, MemoryFiles } from '../support/memory-files.ts'
import type { ModelRequest } from '../support/model-server/bedrock.ts'
import { modelBench } from '../support/model-server/bedrock-agent.ts'
import { aFinding } from '../support/runs.ts'

const bench = modelBench()
const BASE = new MemoryFiles({ 'a.mjs': 'one\n' })
const HEAD = new MemoryFiles({ 'a.mjs': 'one\nbad a\n', 'b.mjs': 'bad b\n' })
const reviewing = (more: Partial<AgentTurn> = {}): AgentTurn => agentTurn(reviewTask(diffTrees(BASE, HEAD)), HEAD.copy(), more)
const toolsOf = (request: ModelRequest | undefined): string[] =>
  (request?.toolConfig?.tools ?? []).flatMap(({ toolSpec }) => toolSpec?.name ?? [])
const outputOf = async (result: ReturnType<ReturnType<typeof bench.agent>['run']>) => {
  const ended = await result
  if (ended.kind !== 'done') throw new Error(JSON.stringify(ended))
  return reviewOutput.parse(ended.output)
}
const empty = { findings: [], accounts: [], skipped: [], summary: '' }
const report = (input: object) => ({ tools: [{ name: 'report', input: { ...empty, ...input } }] })

describe('a request', () => {
  it('has the tools of its role and no shell, over HTTP/1.1', async () => {
    await bench.agent().run(reviewing())
    const read = ['list_files', 'read_file', 'search', 'diff']
    expect(toolsOf(bench.server.requests[0])).toEqual([...read, 'report'])
    bench.server.requests.length = 0
    await bench.agent().run(agentTurn(fixTask(diffTrees(BASE, HEAD), [{ ...aFinding(), file: 'a.mjs' }]), HEAD.copy()))
    expect(toolsOf(bench.server.requests[0])).toEqual([...read, 'edit_file', 'write_file', 'delete_file', 'report'])
    expect(bench.server.requests[0]?.httpVersion).toBe('1.1')
  })

  it('carries the settings of the deployment', async () => {
    const settings = {
      REVIEWLOOP_BEDROCK_MODEL: 'eu.some/model:0',
      REVIEWLOOP_BEDROCK_EFFORT: 'high',
      REVIEWLOOP_BEDROCK_MAX_TOKENS: '4000',
    }
    await bench.agent(settings).run(reviewing())
    expect(bench.server.requests[0]).toMatchObject({
      modelId: 'eu.some/model:0',
      inferenceConfig: { maxTokens: 4000 },
      outputConfig: { effort: 'high' },
    })
    bench.server.requests.length = 0
    await bench.agent().run(reviewing())
    expect(bench.server.requests[0]?.outputConfig).toBeUndefined()
  })

  it('asks for a strict answer, unless the model knows none', async () => {
    const strict = (request: ModelRequest | undefined) =>
      request?.toolConfig?.tools?.find(({ toolSpec }) => toolSpec?.name === 'report')?.toolSpec?.strict
    await bench.agent().run(reviewing())
    expect(strict(bench.server.requests[0])).toBe(true)
    bench.server.requests.length = 0
    const agent = bench.agent({ REVIEWLOOP_BEDROCK_STRICT: 'off' })
    expect(agent.capabilities.structuredOutput).toBe(false)
    await agent.run(reviewing())
    expect(strict(bench.server.requests[0])).toBeUndefined()
  })

  it('has cache points after the system text and our last two messages, for as long as is set', async () => {
    await bench.agent({ REVIEWLOOP_BEDROCK_CACHE: '1h' }).run(reviewing())
    const last = bench.server.requests.at(-1)
    const point = { cachePoint: { type: 'default', ttl: '1h' } }
    expect(last?.system?.at(-1)).toEqual(point)
    const ours = (last?.messages ?? []).filter(({ role }) => role === 'user')
    expect(ours.map(({ content }) => content?.at(-1))).toEqual(
      ours.map((_, index) => (index >= ours.length - 2 ? point : expect.not.objectContaining(point))),
    )
    bench.server.requests.length = 0
    await bench.agent({ REVIEWLOOP_BEDROCK_CACHE: 'off' }).run(reviewing())
    expect(bench.server.requests.map(({ raw }) => raw).join()).not.toContain('cachePoint')
  })

  it('gives back what the model thought, signed as it was', async () => {
    bench.server.script.push({ reasoning: 'let me see', tools: [{ name: 'list_files', input: {} }] })
    await bench.agent().run(reviewing())
    expect(bench.server.requests[1]?.messages?.[1]?.content?.[0]).toEqual({
      reasoningContent: { reasoningText: { text: 'let me see', signature: 'signed-1' } },
    })
  })
})

describe('the second call of a turn', () => {
  it('reads from the cache what the first has written', async () => {
    const { usage } = await bench.agent().run(reviewing())
    expect(usage.calls).toBe(2)
    expect(usage.cacheRead).toBeGreaterThan(0)
    expect(usage.cacheWrite).toBeGreaterThan(0)
    // all input is one or the other: nothing stands behind the last cache point
    expect(usage.input).toBe((usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0))
  })
})

/** 20,000 tokens of context: 3,000 of change a message, four messages. */
const SMALL = { REVIEWLOOP_BEDROCK_CONTEXT_TOKENS: '20000' }
const long = (path: string, lines = 300) => fileDiff(path, null, `${path} line\n`.repeat(lines))

describe('a large change', () => {
  const diff = [long('a.mjs'), long('b.mjs'), long('c.mjs')]
  const files = new MemoryFiles({ 'a.mjs': 'a', 'b.mjs': 'b', 'c.mjs': 'c' })
  const finding = (file: string) => ({ rule: 'r', severity: 'error', action: null, file, line: 1, endLine: null, text: `in ${file}` })

  it('is given in parts, and the answers are one', async () => {
    const open = tracked([{ rule: 'old', severity: 'error', file: 'a.mjs', line: 1, text: 'x' }], files)
    const id = open[0]?.id ?? ''
    bench.server.script.push(
      report({ findings: [finding('a.mjs')], summary: 'One.' }),
      report({ findings: [finding('b.mjs')], skipped: [{ file: 'b.mjs', reason: 'too hard' }], summary: 'Two.' }),
      report({ accounts: [{ id, status: 'fixed', note: null }], summary: 'Three.' }),
    )
    const output = await outputOf(bench.agent(SMALL).run(agentTurn(reviewTask(diff, open), files)))
    expect(output.findings.map(({ file }) => file)).toEqual(['a.mjs', 'b.mjs'])
    expect(output).toMatchObject({
      accounts: [{ id, status: 'fixed' }],
      skipped: [{ file: 'b.mjs', reason: 'too hard' }],
      summary: 'One. Two. Three.',
    })
    expect(bench.server.requests).toHaveLength(3)
    expect(bench.server.requests[0]?.raw).not.toContain('Outstanding findings')
    expect(bench.server.requests[2]?.raw).toContain('Outstanding findings')
  })

  it('over the budget is skipped where it does not fit, whatever the model says', async () => {
    const more = [...diff, long('README.md'), long('yarn.lock')]
    bench.server.model = () => report({})
    const output = await outputOf(bench.agent(SMALL).run(agentTurn(reviewTask(more), files)))
    expect(output.skipped).toEqual([{ file: 'yarn.lock', reason: expect.stringContaining('larger than what one turn may read') as string }])
  })

  it('a part whose report does not fit is asked for again, once', async () => {
    bench.server.script.push(
      report({ findings: 'none' }),
      report({ summary: 'One.' }),
      report({ summary: 'Two.' }),
      report({ summary: 'Three.' }),
    )
    expect((await outputOf(bench.agent(SMALL).run(agentTurn(reviewTask(diff), files)))).summary).toBe('One. Two. Three.')
    bench.server.script.push(report({ findings: 'none' }), report({ findings: 'still none' }))
    expect(await bench.agent(SMALL).run(agentTurn(reviewTask(diff), files))).toMatchObject({
      kind: 'done',
      output: { findings: 'still none' },
    })
  })

  it('that was not shown to the end is unread after a repair', async () => {
    const transcript = new MemoryTranscript()
    const turn = agentTurn(reviewTask(diff), files, { transcript })
    bench.server.script.push(report({ findings: 'none' }), report({ findings: 'still none' }))
    await bench.agent(SMALL).run(turn)
    bench.server.script.push(report({ summary: 'whole' }))
    const output = await outputOf(
      bench.agent(SMALL).run({ ...turn, prompt: { kind: 'repair', task: turn.prompt.task, problem: 'findings: expected array' } }),
    )
    expect(output.summary).toBe('whole')
    expect(output.skipped.map(({ file }) => file)).toEqual(['b.mjs', 'c.mjs'])
  })

  it('goes on after a checkpoint with the part it was at', async () => {
    const transcript = new MemoryTranscript()
    let ahead = 0
    const turn = agentTurn(reviewTask(diff), files, { transcript, session: { mode: 'start', id: 'it' }, progress: () => (ahead = 50_000) })
    bench.server.model = (request) => report({ summary: `${request.messages?.length ?? 0}.` })
    expect(await bench.agent(SMALL, { now: () => Date.now() + ahead }).run(turn)).toMatchObject({ kind: 'checkpoint' })
    const next = {
      ...turn,
      turn: 2,
      session: { mode: 'resume' as const, id: 'it' },
      prompt: { kind: 'continue' as const, task: turn.prompt.task },
    }
    expect((await outputOf(bench.agent(SMALL).run(next))).summary).toBe('1. 3. 5.')
    expect(bench.server.requests).toHaveLength(3)
  })
})

describe('a repair', () => {
  it.each([{ mode: 'none' as const }, { mode: 'start' as const, id: 'it' }])(
    'goes on in the same conversation, session or not: %j',
    async (session) => {
      const transcript = new MemoryTranscript()
      const turn = reviewing({ session, transcript })
      bench.server.script.push(report({ findings: 7 }), report({ summary: 'better' }))
      expect(await bench.agent().run(turn)).toMatchObject({ kind: 'done', output: { findings: 7 } })
      const again = session.mode === 'none' ? session : { mode: 'resume' as const, id: 'it' }
      const repaired = await bench
        .agent()
        .run({ ...turn, session: again, prompt: { kind: 'repair', task: turn.prompt.task, problem: 'findings: no array' } })
      expect(repaired).toMatchObject({ kind: 'done', output: { summary: 'better' }, sessionId: session.mode === 'none' ? null : 'it' })
      expect(bench.server.requests[1]?.messages).toHaveLength(3)
      expect(bench.server.requests[1]?.raw).toContain('findings: no array')
    },
  )
})
