/** How a provider's answers, and the tool's own, end a turn: through the real SDK and command-line tool. */
import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import type { ThreadOptions } from '../../lib/agents/codex/sdk.ts'
import type { AgentResult, AgentTurn } from '../../lib/loop/agent.ts'
import { agentTurn, fixTask, MemoryTranscript, reviewTask } from '../support/agent-turn.ts'
import { diffTrees, MemoryFiles } from '../support/memory-files.ts'
import type { ModelReply } from '../support/model-server/openai.ts'
import { codexBench } from '../support/model-server/openai-agent.ts'
import { aFinding } from '../support/runs.ts'

const bench = codexBench()
const HEAD = new MemoryFiles({ 'a.mjs': 'one\nbad a\n' })
const DIFF = diffTrees(new MemoryFiles({ 'a.mjs': 'one\n' }), HEAD)
const reviewing = (more: Partial<AgentTurn> = {}): AgentTurn => agentTurn(reviewTask(DIFF), HEAD.copy(), more)

const run = (script: ModelReply[], more: Partial<AgentTurn> = {}, settings: Record<string, string> = {}): Promise<AgentResult> => {
  bench.server.script.push(...script)
  return bench.agent(settings).run(reviewing(more))
}
const listing: ModelReply = { tools: [{ name: 'list_files', input: { folder: null } }] }
const CLEAN = { findings: [], accounts: [], skipped: [], summary: 'clean' }
const reporting: ModelReply = { text: JSON.stringify(CLEAN) }

const started = async (): Promise<{ transcript: MemoryTranscript; id: string }> => {
  const transcript = new MemoryTranscript()
  const result = await run([reporting], { session: { mode: 'start', id: null }, transcript })
  if (result.kind !== 'done') throw new Error(JSON.stringify(result))
  return { transcript, id: result.sessionId ?? '' }
}
const resuming = ({ transcript, id }: { transcript: MemoryTranscript; id: string }): Partial<AgentTurn> => ({
  turn: 3,
  session: { mode: 'resume', id },
  transcript,
})

describe('what the provider does', () => {
  it.each<[ModelReply, string]>([
    [{ status: 429, code: 'rate_limit_exceeded', message: 'because' }, 'AgentThrottled'],
    [{ failed: 'rate_limit_exceeded', message: 'because' }, 'AgentThrottled'],
    [{ status: 503, message: 'because' }, 'AgentOverloaded'],
    [{ failed: 'server_error', message: 'because' }, 'AgentOverloaded'],
    [{ status: 408, message: 'because' }, 'AgentTimedOut'],
    [{ status: 400, code: 'invalid_request', message: 'because' }, 'AgentFailed'],
    [{ failed: 'something_new', message: 'because' }, 'AgentFailed'],
    [{ failed: 'context_length_exceeded', message: 'because' }, 'AgentFailed'],
  ])('%j is %s', async (reply, error) => {
    const result = await run([reply])
    expect(result).toMatchObject({ kind: 'failed', error, reason: expect.stringContaining('because') as string })
    expect(bench.server.requests).toHaveLength(1)
    expect(result.usage.calls).toBe(1)
  })

  it.each<ModelReply>([
    { status: 401, code: 'invalid_api_key', message: 'no access to the model' },
    { status: 403, message: 'no access to the model' },
    { status: 404, code: 'model_not_found', message: 'no access to the model' },
    { status: 429, code: 'insufficient_quota', message: 'no access to the model' },
    { failed: 'cyber_policy', message: 'no access to the model' },
  ])('%j is a refusal, with its reason', async (reply) => {
    expect(await run([reply])).toMatchObject({ kind: 'refused', reason: expect.stringContaining('no access to the model') as string })
  })

  it.each<[string, ModelReply]>([
    ['filtered', { incomplete: 'content_filter' }],
    ['refused', { items: [{ type: 'message', id: 'm', role: 'assistant', content: [{ type: 'refusal', refusal: 'I may not' }] }] }],
  ])('output that is %s is a refusal', async (_what, reply) => {
    expect(await run([reply])).toMatchObject({ kind: 'refused' })
  })

  it('an answer that is cut off is no answer', async () => {
    expect(await run([{ incomplete: 'max_output_tokens' }])).toMatchObject({
      kind: 'failed',
      error: 'AgentFailed',
      reason: expect.stringContaining('cut off: max_output_tokens') as string,
    })
  })

  it.each(['cut', 'late'] as const)('a connection that is broken (%s) is an overload', async (broken) => {
    expect(await run([{ broken }])).toMatchObject({ kind: 'failed', error: 'AgentOverloaded' })
  })

  it('a server that is not there is an overload, and so is a key that cannot be had', async () => {
    expect(await run([], {}, { REVIEWLOOP_CODEX_BASE_URL: 'http://127.0.0.1:9' })).toMatchObject({ error: 'AgentOverloaded' })
    const key = (): Promise<string> => Promise.reject(new Error('the secret is not to be read'))
    expect(await bench.agent({}, { key }).run(reviewing())).toMatchObject({
      error: 'AgentOverloaded',
      reason: expect.stringContaining('the secret is not to be read') as string,
    })
  })

  it('a throttle and a broken answer are tried again first, where they may be', async () => {
    bench.server.script.push({ status: 429, headers: { 'retry-after': '0' } }, { broken: 'late' }, reporting)
    const result = await bench.agent({}, { attempts: 3 }).run(reviewing())
    expect(result).toMatchObject({ kind: 'done', usage: { calls: 3 } })
    expect(bench.server.requests).toHaveLength(3)
  })

  it('what calls before the failure used counts', async () => {
    const { usage } = await run([listing, { status: 503 }])
    expect(usage.calls).toBe(2)
    expect(usage.input).toBeGreaterThan(100)
  })

  it('text that is no answer is for the loop to judge', async () => {
    expect(await run([{ text: 'all fine' }])).toMatchObject({ kind: 'done', output: 'all fine' })
    expect(await run([{}])).toMatchObject({ kind: 'done', output: '' })
  })
})

describe('time', () => {
  it('no answer by the deadline is a turn that timed out', async () => {
    expect(await run([{ broken: 'hang' }], { deadline: Date.now() + 1500 })).toMatchObject({ kind: 'failed', error: 'AgentTimedOut' })
  })

  it('no answer by the deadline after others keeps what was said', async () => {
    const transcript = new MemoryTranscript()
    const session = { mode: 'start' as const, id: null }
    const result = await run([listing, { broken: 'hang' }], { deadline: Date.now() + 2500, session, transcript })
    if (result.kind !== 'checkpoint') throw new Error(JSON.stringify(result))
    bench.server.script.push(reporting)
    const next = reviewing({ ...resuming({ transcript, id: result.sessionId }), turn: 2 })
    expect(await bench.agent().run({ ...next, prompt: { kind: 'continue', task: next.prompt.task } })).toMatchObject({ kind: 'done' })
    const { input } = bench.server.requests.at(-1) ?? { input: [] }
    expect(input.filter(({ type }) => type === 'function_call_output')).toHaveLength(1)
    expect(JSON.stringify(input)).not.toContain('aborted')
  })

  it('an interruption in the middle of a call is one', async () => {
    const controller = new AbortController()
    const hang = (): ModelReply => {
      controller.abort()
      return { broken: 'hang' }
    }
    bench.server.script.push(hang)
    expect(await run([], { signal: controller.signal })).toMatchObject({ kind: 'failed', error: 'AgentCancelled' })
  })
})

describe('the SDK', () => {
  // It leaves an error to nobody that ends the process; vitest would tell.
  it('is not stopped before the tool has read its message', async () => {
    const long = new MemoryFiles({ 'a.mjs': 'a line that is long enough to fill a pipe\n'.repeat(50_000) })
    const task = reviewTask(diffTrees(new MemoryFiles(), long))
    for (const ms of [5, 20, 60]) {
      const controller = new AbortController()
      class Interrupted extends bench.sdk.Codex {
        override startThread(options: ThreadOptions) {
          setTimeout(() => controller.abort(), ms)
          return super.startThread(options)
        }
      }
      const agent = bench.agent({ REVIEWLOOP_CODEX_CONTEXT_TOKENS: '9000000' }, { sdk: { Codex: Interrupted } })
      expect(await agent.run(agentTurn(task, long, { signal: controller.signal }))).toMatchObject({ error: 'AgentCancelled' })
      await wait(50)
    }
  })
})

describe('budget', () => {
  it('of tokens: the call that would go over it is not made', async () => {
    const first = await run([reporting])
    const used = (first.usage.input ?? 0) + (first.usage.output ?? 0)
    bench.server.requests.length = 0
    const result = await run([listing, reporting], { budget: { tokens: used + 200, dollars: 10, calls: 1e9 } })
    expect(result).toMatchObject({ kind: 'limit', limit: 'tokens' })
    expect(bench.server.requests).toHaveLength(1)
    bench.server.script.length = 0
    expect(await run([], { budget: { tokens: 0, dollars: 10, calls: 1e9 } })).toMatchObject({ kind: 'limit', limit: 'tokens' })
  })

  it('of dollars, where the prices are known', async () => {
    const prices = { REVIEWLOOP_CODEX_PRICES: '3/15/0.3/3.75' }
    const { usage, ...result } = await run([listing], { budget: { tokens: 1e9, dollars: 0.000001, calls: 1e9 } }, prices)
    expect(result).toMatchObject({ kind: 'limit', limit: 'dollars' })
    const { input, output, cacheRead, dollars } = usage
    expect(dollars).toBeCloseTo((((input ?? 0) - (cacheRead ?? 0)) * 3 + (output ?? 0) * 15 + (cacheRead ?? 0) * 0.3) / 1e6, 12)
  })

  it('a turn’s usage is its own, and not the thread’s', async () => {
    const session = await started()
    const again = await run([reporting], resuming(session))
    const { input } = bench.server.requests.at(-1) ?? { input: [] }
    expect(input.length).toBeGreaterThan(3)
    expect(again.usage).toMatchObject({ calls: 1 })
    const third = await run([{ ...reporting, input: 7, output: 5 }], { ...resuming(session), turn: 5 })
    expect(third.usage).toMatchObject({ calls: 1, input: 7, output: 5 })
  })

  it('of calls: who never comes to an end is told to, and then stopped', async () => {
    bench.server.model = () => listing
    const result = await bench.agent().run(reviewing({ budget: { tokens: 1e9, dollars: 1e9, calls: 8 } }))
    expect(result).toMatchObject({ kind: 'limit', limit: 'turn_calls', usage: { calls: 8 } })
    expect(bench.server.requests).toHaveLength(8)
    expect(bench.server.requests[2]?.raw).not.toContain('There is no room for more')
    expect(bench.server.requests.at(-1)?.raw).toContain('There is no room for more')
  })
})

describe('a session that is not to be gone on with', () => {
  it.each([{ failed: 'context_length_exceeded' }, { status: 400, code: 'invalid_encrypted_content', message: 'could not be verified' }])(
    'because of %j',
    async (reply) => {
      expect(await run([reply], resuming(await started()))).toMatchObject({ kind: 'session_lost' })
    },
  )

  it('since the tool does not know the thread', async () => {
    const session = await started()
    class Elsewhere extends bench.sdk.Codex {
      override resumeThread(_id: string, options: ThreadOptions) {
        return super.resumeThread(crypto.randomUUID(), options)
      }
    }
    expect(await bench.agent({}, { sdk: { Codex: Elsewhere } }).run(reviewing(resuming(session)))).toMatchObject({
      kind: 'session_lost',
      reason: expect.stringMatching(/no rollout found for thread id/) as string,
    })
    expect(bench.server.requests).toHaveLength(1)
  })

  it.each(['nonsense', '../../etc', ''])('for its id is not that of a thread: %j', async (id) => {
    const { transcript } = await started()
    expect(await run([], resuming({ transcript, id }))).toMatchObject({ kind: 'session_lost' })
    expect(bench.server.requests).toHaveLength(1)
  })

  it.each<[string, (lines: string[], id: string) => string[]]>([
    ['has lost part of a line', (lines) => lines.map((line, index) => (index === 3 ? line.slice(0, 40) : line))],
    ['has lost its head', (lines) => lines.slice(1)],
    ['is empty', () => []],
    ['is of another thread', ([head = '', ...lines], id) => [head.replaceAll(id, crypto.randomUUID()), ...lines]],
  ])('since its file %s', async (_what, damage) => {
    const { transcript, id } = await started()
    const entries = transcript.entries as { type: string; text?: string }[]
    const lines = entries.flatMap(({ type, text }) => (type === 'line' ? [text ?? ''] : []))
    const damaged = damage(lines, id).map((text) => ({ type: 'line', text }))
    transcript.entries = [...entries.filter(({ type }) => type !== 'line'), ...damaged]
    expect(await run([], resuming({ transcript, id }))).toMatchObject({ kind: 'session_lost' })
    expect(bench.server.requests).toHaveLength(1)
  })

  it('that another model or another version of the tool has made', async () => {
    const session = await started()
    const lost = { kind: 'session_lost', reason: expect.stringContaining('was made by') as string }
    expect(await bench.agent({ REVIEWLOOP_CODEX_MODEL: 'other' }).run(reviewing(resuming(session)))).toMatchObject(lost)
    expect(await bench.agent({}, { version: '0.0.1' }).run(reviewing(resuming(session)))).toMatchObject(lost)
  })

  it('where another thread answers: its answer is never asked for', async () => {
    const session = await started()
    // As the tool does with an id that it does not take for one.
    class Forgetful extends bench.sdk.Codex {
      override resumeThread(_id: string, options: ThreadOptions) {
        return this.startThread(options)
      }
    }
    bench.server.requests.length = 0
    const result = await bench.agent({}, { sdk: { Codex: Forgetful } }).run(reviewing(resuming(session)))
    expect(result).toMatchObject({ kind: 'session_lost', reason: 'it went on in another thread' })
    expect(bench.server.requests).toEqual([])
  })
})

it('a role is never given the task of another', async () => {
  const turn = agentTurn(fixTask(DIFF, [aFinding()]), HEAD.copy(), { role: 'reviewer', edits: null })
  expect(await bench.agent().run(turn)).toMatchObject({ kind: 'failed', error: 'AgentFailed' })
  expect(bench.server.requests).toEqual([])
})
