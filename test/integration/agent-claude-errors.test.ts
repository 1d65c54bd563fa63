/** How a turn of the agent `claude` ends, told apart by what the real tool makes of its provider's answers. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { type ClaudeSdk, loadClaudeSdk } from '../../lib/agents/claude/sdk.ts'
import type { AgentResult, AgentTurn } from '../../lib/loop/agent.ts'
import { agentTurn, fixTask, MemoryTranscript, reviewTask } from '../support/agent-turn.ts'
import { diffTrees, MemoryFiles } from '../support/memory-files.ts'
import type { ModelReply } from '../support/model-server/bedrock.ts'
import { claudeBench } from '../support/model-server/claude-agent.ts'
import { plainModel } from '../support/model-server/plain-model.ts'
import { processesKnowing } from '../support/processes.ts'
import { aFinding } from '../support/runs.ts'

const bench = claudeBench()
const ID = '7d9f6f0e-6a5e-4c39-9d7c-1f0c7a3f1a11'
const HEAD = new MemoryFiles({ 'a.mjs': 'one\nbad a\n' })
const DIFF = diffTrees(new MemoryFiles({ 'a.mjs': 'one\n' }), HEAD)
const reviewing = (more: Partial<AgentTurn> = {}): AgentTurn => agentTurn(reviewTask(DIFF), HEAD.copy(), more)

/** The replies in turn; the last of them for good. */
const run = (replies: ModelReply[], more: Partial<AgentTurn> = {}, settings: Record<string, string> = {}): Promise<AgentResult> => {
  bench.server.script.push(...replies.slice(0, -1))
  const last = replies.at(-1)
  if (last) bench.server.model = () => last
  return bench.agent(settings).run(reviewing(more))
}
const listing: ModelReply = { tools: [{ name: 'list_files', input: { folder: null } }] }
const reporting: ModelReply = { tools: [{ name: 'report', input: { findings: [], accounts: [], skipped: [], summary: 'clean' } }] }

const started = async (): Promise<{ transcript: MemoryTranscript; id: string }> => {
  const transcript = new MemoryTranscript()
  const result = await run([reporting], { session: { mode: 'start', id: ID }, transcript })
  expect(result).toMatchObject({ kind: 'done', sessionId: ID })
  return { transcript, id: ID }
}

describe('errors of the provider', () => {
  it.each([
    ['rate_limit_error', 429, 'AgentThrottled'],
    ['overloaded_error', 529, 'AgentOverloaded'],
    ['api_error', 500, 'AgentOverloaded'],
    ['timeout_error', 504, 'AgentTimedOut'],
    ['invalid_request_error', 400, 'AgentFailed'],
  ])('%s (%i) is %s', async (error, status, expected) => {
    const result = await run([{ error, status, message: 'because' }])
    expect(result).toMatchObject({ kind: 'failed', error: expected, reason: expect.stringContaining('because') as string })
    expect(result.usage).toMatchObject({ calls: 1, input: 0, dollars: 0 })
  })

  it.each([
    ['authentication_error', 401, 'because'],
    ['billing_error', 402, 'because'],
    ['permission_error', 403, 'because'],
    ['not_found_error', 404, 'may not exist'],
  ])('%s (%i) is a refusal, with its reason', async (error, status, reason) => {
    expect(await run([{ error, status, message: 'because' }])).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining(reason) as string,
    })
  })

  it('a connection that is cut, or comes to nothing, is an overload', async () => {
    expect(await run([{ broken: 'cut' }])).toMatchObject({ kind: 'failed', error: 'AgentOverloaded' })
    vi.stubEnv('ANTHROPIC_BASE_URL', 'http://127.0.0.1:9')
    expect(await run([])).toMatchObject({ kind: 'failed', error: 'AgentOverloaded' })
    vi.stubEnv('ANTHROPIC_BASE_URL', bench.server.url)
  })

  it('no key is a refusal, and nobody is called', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', '')
    expect(await run([])).toMatchObject({ kind: 'refused', reason: expect.stringContaining('logged in') as string })
    expect(bench.server.asked).toEqual([])
    vi.stubEnv('ANTHROPIC_API_KEY', 'local-key')
  })

  it('a throttle is tried again by the tool first, where it may', async () => {
    bench.server.script.push({ error: 'rate_limit_error', status: 429 }, reporting)
    expect(await bench.agent({}, { retries: 1 }).run(reviewing())).toMatchObject({ kind: 'done' })
    expect(bench.server.requests).toHaveLength(2)
  })

  it('what calls before the failure used counts', async () => {
    const { usage } = await run([listing, { error: 'rate_limit_error', status: 429 }])
    expect(usage.calls).toBe(2)
    expect(usage.input).toBeGreaterThan(100)
    expect(usage.dollars).toBeGreaterThan(0)
  })
})

describe('time', () => {
  it('no answer by the deadline is a turn that timed out', async () => {
    expect(await run([{ broken: 'hang' }], { deadline: Date.now() + 3000 })).toMatchObject({ kind: 'failed', error: 'AgentTimedOut' })
  })

  it('no answer by the deadline after others keeps what was said, and goes on from there by itself', async () => {
    const transcript = new MemoryTranscript()
    const session = { mode: 'start' as const, id: ID }
    const turn = reviewing({ deadline: Date.now() + 6000, session, transcript })
    bench.server.script.push(listing)
    bench.server.model = () => ({ broken: 'hang' })
    const stopped = await bench.agent().run(turn)
    expect(stopped).toMatchObject({ kind: 'checkpoint', sessionId: ID, usage: { calls: 1 } })
    bench.server.model = () => reporting
    const next = { ...turn, turn: 2, deadline: Date.now() + 60_000, session: { mode: 'resume' as const, id: ID } }
    const result = await bench.agent().run({ ...next, prompt: { kind: 'continue', task: turn.prompt.task } })
    const last = bench.server.requests.at(-1)
    bench.server.cache.clear()
    const sent = last ? bench.server.cache.use(last) : null
    // What the turn that was cut off has used is in its own record, and in no other.
    const input = (sent?.inputTokens ?? 0) + (sent?.cacheReadInputTokens ?? 0) + (sent?.cacheWriteInputTokens ?? 0)
    expect(result).toMatchObject({ kind: 'done', sessionId: ID, output: { summary: 'clean' }, usage: { calls: 1, input } })
    expect(last?.raw.split('The key of the data in this message').length).toBe(2)
    expect(last?.messages?.filter(({ role }) => role === 'user')).toHaveLength(2)
  })

  it('an interruption in the middle of a call is one', async () => {
    const controller = new AbortController()
    const model = `claude-${randomUUID()}`
    bench.server.script.push(async () => {
      expect(await processesKnowing(model)).not.toEqual([])
      controller.abort()
      return { broken: 'hang' }
    })
    const agent = bench.agent({ REVIEWLOOP_CLAUDE_MODEL: model })
    expect(await agent.run(reviewing({ signal: controller.signal }))).toMatchObject({ kind: 'failed', error: 'AgentCancelled' })
    // The tool is gone by then, and not only told to go.
    expect(await processesKnowing(model)).toEqual([])
  })
})

describe('replies that are no answer', () => {
  it('output that the provider withholds is a refusal', async () => {
    expect(await run([{ text: 'I may not', stop: 'refusal' }])).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('withheld') as string,
    })
  })

  it('an answer that is cut off again and again is a failure', async () => {
    const result = await run([{ text: 'half of', stop: 'max_tokens' }])
    expect(result).toMatchObject({
      kind: 'failed',
      error: 'AgentFailed',
      reason: expect.stringContaining('output token maximum') as string,
    })
  })

  it('who talks and does not report is told once; then the talk is the answer, for the loop to judge', async () => {
    expect(await run([{ text: 'all fine' }, reporting])).toMatchObject({ kind: 'done', output: { summary: 'clean' } })
    expect(await run([{ text: 'all fine' }])).toMatchObject({ kind: 'done', output: 'all fine' })
  })

  it('an answer that never fits the schema is a failure', async () => {
    const result = await run([{ tools: [{ name: 'report', input: { findings: 'none' } }] }])
    expect(result).toMatchObject({ kind: 'failed', error: 'AgentFailed', reason: expect.stringContaining('structured output') as string })
  })
})

describe('a session', () => {
  it.each<[string, ModelReply]>([
    ['too long', { error: 'invalid_request_error', status: 400, message: 'prompt is too long: 210000 tokens > 200000 maximum' }],
    ['too large', { error: 'request_too_large', status: 413 }],
    ['at the end of its context', { text: 'half', stop: 'model_context_window_exceeded' }],
  ])('that is %s is lost where it was resumed, and a failure where it has just begun', async (_what, reply) => {
    const { transcript, id } = await started()
    expect(await run([reply], { turn: 3, session: { mode: 'resume', id }, transcript })).toMatchObject({ kind: 'session_lost' })
    expect(await run([reply])).toMatchObject({ kind: 'failed', error: 'AgentFailed' })
  })

  it('of another model is of another version', async () => {
    const { transcript, id } = await started()
    const other = bench.agent({ REVIEWLOOP_CLAUDE_MODEL: 'claude-other' })
    expect(await other.run(reviewing({ turn: 3, session: { mode: 'resume', id }, transcript }))).toMatchObject({
      kind: 'session_lost',
      reason: expect.stringContaining('was made by') as string,
    })
  })

  it('whose lines are gone is unknown to the tool', async () => {
    const { transcript, id } = await started()
    const bare = new MemoryTranscript(transcript.entries.filter((entry) => !JSON.stringify(entry).includes('"uuid"')))
    expect(await run([reporting], { turn: 3, session: { mode: 'resume', id }, transcript: bare })).toMatchObject({ kind: 'session_lost' })
    expect(bench.server.requests).toHaveLength(1)
  })

  it('in which it answers under another id is lost, and its answer thrown away', async () => {
    const { transcript, id } = await started()
    const sdk = await loadClaudeSdk()
    const renamed: ClaudeSdk = {
      createSdkMcpServer: (options) => sdk.createSdkMcpServer(options),
      query: async function* (given) {
        for await (const message of sdk.query(given)) yield { ...(message as object), session_id: '00000000-0000-4000-8000-000000000000' }
      },
    }
    const result = await bench.agent({}, {}, renamed).run(reviewing({ turn: 3, session: { mode: 'resume', id }, transcript }))
    expect(result).toMatchObject({ kind: 'session_lost', reason: 'it answered in another session' })
  })

  it('that was not stopped anywhere cannot be gone on with', async () => {
    const { transcript, id } = await started()
    const turn = reviewing({ turn: 2, session: { mode: 'resume', id }, transcript })
    expect(await bench.agent().run({ ...turn, prompt: { kind: 'continue', task: turn.prompt.task } })).toMatchObject({
      kind: 'session_lost',
      reason: expect.stringContaining('no place to go on from') as string,
    })
  })
})

describe('budget', () => {
  it('of tokens: the call that would go over it is not made', async () => {
    const { usage } = await run([reporting])
    bench.server.requests.length = 0
    const used = (usage.input ?? 0) + (usage.output ?? 0)
    expect(await run([listing], { budget: { tokens: used + 200, dollars: 10, calls: 80 } })).toMatchObject({
      kind: 'limit',
      limit: 'tokens',
    })
    expect(bench.server.requests).toHaveLength(1)
    expect(await run([], { budget: { tokens: 0, dollars: 10, calls: 80 } })).toMatchObject({ kind: 'limit', limit: 'tokens' })
  })

  it('of dollars, as the SDK counts them', async () => {
    expect(await run([listing], { budget: { tokens: 1e9, dollars: 0.0001, calls: 80 } })).toMatchObject({ kind: 'limit', limit: 'dollars' })
    expect(bench.server.requests).toHaveLength(1)
    expect(await run([], { budget: { tokens: 1e9, dollars: 0, calls: 80 } })).toMatchObject({ kind: 'limit', limit: 'dollars' })
  })

  it('of dollars is for the turn, whatever its session has cost before', async () => {
    const transcript = new MemoryTranscript()
    const session = { mode: 'start' as const, id: ID }
    const before = await run([listing, listing, listing, listing, reporting], { session, transcript })
    const dollars = (before.usage.dollars ?? 0) * 0.9
    const resumed = { turn: 3, session: { mode: 'resume' as const, id: ID }, transcript }
    const result = await run([reporting], { ...resumed, budget: { tokens: 1e9, dollars, calls: 80 } })
    expect(result).toMatchObject({ kind: 'done', sessionId: ID })
    expect(result.usage.dollars).toBeLessThan(dollars)
  })

  it('of calls', async () => {
    expect(await run([listing], { budget: { tokens: 1e9, dollars: 10, calls: 3 } })).toMatchObject({
      kind: 'limit',
      limit: 'turn_calls',
      usage: { calls: 3 },
    })
    expect(bench.server.requests).toHaveLength(3)
    expect(await run([], { budget: { tokens: 1e9, dollars: 10, calls: 0 } })).toMatchObject({ kind: 'limit', limit: 'turn_calls' })
  })

  it('a resumed session counts what the turn used, not what it used in all', async () => {
    const { transcript, id } = await started()
    bench.server.cache.clear()
    const { usage } = await run([reporting], { turn: 3, session: { mode: 'resume', id }, transcript })
    expect(usage.calls).toBe(1)
    bench.server.cache.clear()
    const last = bench.server.requests.at(-1)
    const sent = last ? bench.server.cache.use(last) : null
    expect(usage.input).toBe((sent?.inputTokens ?? 0) + (sent?.cacheReadInputTokens ?? 0) + (sent?.cacheWriteInputTokens ?? 0))
  })
})

it('a role is never given the task of another', async () => {
  const turn = agentTurn(fixTask(DIFF, [aFinding()]), HEAD.copy(), { role: 'reviewer', edits: null })
  expect(await bench.agent().run(turn)).toMatchObject({ kind: 'failed', error: 'AgentFailed' })
  expect(bench.server.requests).toEqual([])
  bench.server.model = plainModel()
})
