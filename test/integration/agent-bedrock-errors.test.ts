/** How a provider's answers end a turn, told apart by what the real client makes of them. */
import { describe, expect, it } from 'vitest'
import type { AgentResult, AgentTurn } from '../../lib/loop/agent.ts'
import { agentTurn, fixTask, MemoryTranscript, reviewTask } from '../support/agent-turn.ts'
import { diffTrees, MemoryFiles } from '../support/memory-files.ts'
import type { ModelReply } from '../support/model-server/bedrock.ts'
import { modelBench } from '../support/model-server/bedrock-agent.ts'
import { plainModel } from '../support/model-server/plain-model.ts'
import { aFinding } from '../support/runs.ts'

const bench = modelBench()
const HEAD = new MemoryFiles({ 'a.mjs': 'one\nbad a\n' })
const DIFF = diffTrees(new MemoryFiles({ 'a.mjs': 'one\n' }), HEAD)
const reviewing = (more: Partial<AgentTurn> = {}): AgentTurn => agentTurn(reviewTask(DIFF), HEAD.copy(), more)

const run = (script: ModelReply[], more: Partial<AgentTurn> = {}, settings: Record<string, string> = {}): Promise<AgentResult> => {
  bench.server.script.push(...script)
  return bench.agent(settings).run(reviewing(more))
}
const listing: ModelReply = { tools: [{ name: 'list_files', input: { folder: null } }] }
const reporting: ModelReply = { tools: [{ name: 'report', input: { findings: [], accounts: [], skipped: [], summary: 'clean' } }] }

const started = async (): Promise<{ transcript: MemoryTranscript; id: string }> => {
  const transcript = new MemoryTranscript()
  const result = await run([reporting], { session: { mode: 'start', id: 'its-id' }, transcript })
  expect(result.kind).toBe('done')
  return { transcript, id: 'its-id' }
}

describe('errors of the provider', () => {
  it.each([
    ['ThrottlingException', 429, 'AgentThrottled'],
    ['ServiceQuotaExceededException', 400, 'AgentThrottled'],
    ['TooManyRequestsException', 429, 'AgentThrottled'],
    ['ModelNotReadyException', 429, 'AgentOverloaded'],
    ['ServiceUnavailableException', 503, 'AgentOverloaded'],
    ['InternalServerException', 500, 'AgentOverloaded'],
    ['ModelErrorException', 424, 'AgentOverloaded'],
    ['SomethingNewException', 502, 'AgentOverloaded'],
    ['ModelTimeoutException', 408, 'AgentTimedOut'],
    ['ValidationException', 400, 'AgentFailed'],
    ['ConflictException', 400, 'AgentFailed'],
  ])('%s (%i) is %s', async (error, status, expected) => {
    const result = await run([{ error, status, message: 'because' }])
    expect(result).toMatchObject({ kind: 'failed', error: expected, reason: expect.stringContaining('because') as string })
    expect(bench.server.requests).toHaveLength(1)
  })

  it.each([
    ['AccessDeniedException', 403],
    ['ResourceNotFoundException', 404],
    ['UnrecognizedClientException', 403],
    ['ExpiredTokenException', 403],
    ['SomethingNewException', 401],
  ])('%s (%i) is a refusal, with its reason', async (error, status) => {
    expect(await run([{ error, status, message: 'no access to the model' }])).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('no access to the model') as string,
    })
  })

  it('a connection that is cut is an overload', async () => {
    expect(await run([{ broken: 'cut' }])).toMatchObject({ kind: 'failed', error: 'AgentOverloaded' })
  })

  it('a server that is not there is an overload', async () => {
    const agent = bench.agent({}, { endpoint: 'http://127.0.0.1:9' })
    expect(await agent.run(reviewing())).toMatchObject({ kind: 'failed', error: 'AgentOverloaded' })
  })

  it('a throttle is tried again by the client first, where it may', async () => {
    bench.server.script.push({ error: 'ThrottlingException', status: 429 }, reporting)
    expect(await bench.agent({}, { attempts: 2 }).run(reviewing())).toMatchObject({ kind: 'done' })
    expect(bench.server.requests).toHaveLength(2)
  })

  it('what calls before the failure used counts', async () => {
    const result = await run([listing, { error: 'ThrottlingException', status: 429 }])
    expect(result.usage.calls).toBe(2)
    expect(result.usage.input).toBeGreaterThan(100)
  })
})

describe('time', () => {
  it('no answer by the deadline is a turn that timed out', async () => {
    expect(await run([{ broken: 'hang' }], { deadline: Date.now() + 600 })).toMatchObject({ kind: 'failed', error: 'AgentTimedOut' })
  })

  it('no answer by the deadline after others keeps what was said', async () => {
    const transcript = new MemoryTranscript()
    const result = await run([listing, { broken: 'hang' }], { deadline: Date.now() + 800, session: { mode: 'start', id: 'i' }, transcript })
    expect(result).toMatchObject({ kind: 'checkpoint', sessionId: 'i' })
    expect(transcript.entries.at(-1)).toMatchObject({ type: 'results' })
  })

  it('an interruption in the middle of a call is one', async () => {
    const controller = new AbortController()
    setTimeout(() => controller.abort(), 60)
    expect(await run([{ broken: 'hang' }], { signal: controller.signal })).toMatchObject({ kind: 'failed', error: 'AgentCancelled' })
  })
})

describe('replies that are no answer', () => {
  it.each(['guardrail_intervened', 'content_filtered', 'refusal'])('%s is a refusal', async (stop) => {
    expect(await run([{ text: 'I may not', stop }])).toMatchObject({ kind: 'refused', reason: expect.stringContaining(stop) as string })
  })

  it.each(['max_tokens', 'malformed_tool_use', 'malformed_model_output'])('%s is gone on from once, and leaves nothing', async (stop) => {
    const cut: ModelReply = { text: 'half of', tools: [{ name: 'report', input: { findings: [] } }], stop }
    const transcript = new MemoryTranscript()
    expect(await run([cut, reporting], { transcript })).toMatchObject({ kind: 'done', output: { summary: 'clean' } })
    expect(JSON.stringify(transcript.entries)).not.toContain('half of')
    expect(bench.server.requests[1]?.raw).toContain('Answer again: shorter')
    const again = await run([cut, cut])
    expect(again).toMatchObject({ kind: 'failed', error: 'AgentFailed', reason: expect.stringContaining('for the second time') as string })
  })

  it('an unknown reason to stop is a failure', async () => {
    expect(await run([{ text: 'a', stop: 'bored' }])).toMatchObject({
      kind: 'failed',
      error: 'AgentFailed',
      reason: expect.stringContaining('bored') as string,
    })
  })

  it('who talks and does not report is told once; then the talk is the answer, for the loop to judge', async () => {
    expect(await run([{ text: 'all fine' }, reporting])).toMatchObject({ kind: 'done', output: { summary: 'clean' } })
    expect(await run([{ text: 'all fine' }, { text: 'I said: fine' }])).toMatchObject({ kind: 'done', output: 'I said: fine' })
  })

  it('an empty reply is told once', async () => {
    expect(await run([{}, reporting])).toMatchObject({ kind: 'done' })
    expect(await run([{}, { text: '  ' }])).toMatchObject({ kind: 'failed', error: 'AgentFailed' })
  })

  it('who never comes to an end is stopped, after it was told to', async () => {
    bench.server.model = () => listing
    const result = await bench.agent().run(reviewing())
    expect(result).toMatchObject({ kind: 'limit', limit: 'turn_calls', usage: { calls: 80 } })
    expect(bench.server.requests.at(-1)?.raw).toContain('Report now')
  })
})

describe('a conversation that the model cannot take in any more', () => {
  const TOO_LONG: ModelReply[] = [
    { error: 'ValidationException', status: 400, message: 'Input is too long for requested model.' },
    { error: 'ValidationException', status: 400, message: 'prompt is too long: 210000 tokens > 200000 maximum' },
    { text: 'a', stop: 'model_context_window_exceeded' },
  ]

  it.each(TOO_LONG)('is a lost session where it was resumed, and a failure where it has just begun: %j', async (reply) => {
    const { transcript, id } = await started()
    expect(await run([reply], { turn: 3, session: { mode: 'resume', id }, transcript })).toMatchObject({ kind: 'session_lost' })
    expect(await run([reply])).toMatchObject({ kind: 'failed', error: 'AgentFailed' })
  })
})

describe('a transcript', () => {
  it('of another model is of another version', async () => {
    const { transcript, id } = await started()
    const other = bench.agent({ REVIEWLOOP_BEDROCK_MODEL: 'other.model' })
    expect(await other.run(reviewing({ turn: 3, session: { mode: 'resume', id }, transcript }))).toMatchObject({
      kind: 'session_lost',
      reason: expect.stringContaining('was made by') as string,
    })
  })

  const replyOf = { type: 'reply', content: [{ toolUse: { id: 't', name: 'diff', input: {} } }], context: 1 }
  it.each([
    [
      'that ends between a reply and its results',
      (entries: unknown[]) => entries.filter((entry) => (entry as { type: string }).type !== 'results'),
    ],
    [
      'whose results are of another reply',
      (entries: unknown[]) => [...entries, replyOf, { type: 'results', results: [{ id: 'u', ok: true, text: '' }] }],
    ],
    ['that has no turn', (entries: unknown[]) => entries.slice(0, 1)],
    ['that begins in the middle of a turn', (entries: unknown[]) => [entries[0], ...entries.slice(2)]],
    ['that asks for a part that is not there', (entries: unknown[]) => [...entries, { type: 'ask', part: 7 }]],
  ])('%s is lost', async (_what, damage) => {
    const { transcript, id } = await started()
    for (const kind of ['task', 'continue'] as const) {
      if (kind === 'task' && damage(transcript.entries).length === 1) continue
      const turn = reviewing({ turn: 3, session: { mode: 'resume', id }, transcript: new MemoryTranscript(damage(transcript.entries)) })
      bench.server.requests.length = 0
      expect(await bench.agent().run({ ...turn, prompt: { kind, task: turn.prompt.task } })).toMatchObject({ kind: 'session_lost' })
      expect(bench.server.requests).toEqual([])
    }
  })
})

describe('budget', () => {
  it('of tokens: the call that would go over it is not made', async () => {
    const first = await run([reporting])
    const used = (first.usage.input ?? 0) + (first.usage.output ?? 0)
    bench.server.requests.length = 0
    const result = await run([listing, reporting], { budget: { tokens: used + 200, dollars: 10, calls: 80 } })
    expect(result).toMatchObject({ kind: 'limit', limit: 'tokens', sessionId: null })
    expect(bench.server.requests).toHaveLength(1)
    expect(await run([], { budget: { tokens: 0, dollars: 10, calls: 80 } })).toMatchObject({ kind: 'limit', limit: 'tokens' })
  })

  it('of dollars, where the prices are known', async () => {
    bench.server.model = plainModel({ oneByOne: true })
    const result = await run([], { budget: { tokens: 1e9, dollars: 0.000001, calls: 80 } }, { REVIEWLOOP_BEDROCK_PRICES: '3/15/0.3/3.75' })
    expect(result).toMatchObject({ kind: 'limit', limit: 'dollars' })
    expect(await run([], { budget: { tokens: 1e9, dollars: 0.000001, calls: 80 } })).toMatchObject({
      kind: 'done',
      usage: { dollars: null },
    })
  })

  it('dollars are what the prices make of the four kinds of token', async () => {
    bench.server.script.push((request) => {
      bench.server.cache.use(request)
      return reporting
    })
    const { usage } = await bench.agent({ REVIEWLOOP_BEDROCK_PRICES: '3/15/0.3/3.75' }).run(reviewing())
    const { input, output, cacheRead, cacheWrite, dollars } = usage
    expect(cacheRead).toBeGreaterThan(0)
    const plain = (input ?? 0) - (cacheRead ?? 0) - (cacheWrite ?? 0)
    expect(dollars).toBeCloseTo((plain * 3 + (output ?? 0) * 15 + (cacheRead ?? 0) * 0.3 + (cacheWrite ?? 0) * 3.75) / 1e6, 12)
  })
})

it('a role is never given the task of another', async () => {
  const turn = agentTurn(fixTask(DIFF, [aFinding()]), HEAD.copy(), { role: 'reviewer', edits: null })
  expect(await bench.agent().run(turn)).toMatchObject({ kind: 'failed', error: 'AgentFailed' })
  expect(bench.server.requests).toEqual([])
})
