/** Turns of the agent `acp` with a small agent behind the protocol: what real ones do not show, or not on demand. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AgentResult, AgentTurn } from '../../lib/loop/agent.ts'
import { reviewOutput } from '../../lib/loop/output.ts'
import { smallAgent } from '../support/acp-agent/bench.ts'
import type { SmallAgentOptions } from '../support/acp-agent/options.ts'
import { agentTurn, fixTask, MemoryTranscript, reviewTask, tracked } from '../support/agent-turn.ts'
import { diffTrees, MemoryFiles } from '../support/memory-files.ts'

const base = new MemoryFiles({ 'a.mjs': 'one\n' })
const head = new MemoryFiles({ 'a.mjs': 'one\nbad a\n', 'b.mjs': 'bad b\n' })
const diff = diffTrees(base, head)
const reviewing = (more: Partial<AgentTurn> = {}): AgentTurn => agentTurn(reviewTask(diff), head.copy(), more)
const starting = (more: Partial<AgentTurn> = {}): AgentTurn => reviewing({ session: { mode: 'start', id: null }, ...more })

const done = (result: AgentResult): Extract<AgentResult, { kind: 'done' }> => {
  if (result.kind !== 'done') throw new Error(`ended as ${result.kind}: ${'reason' in result ? result.reason : ''}`)
  return result
}
const rulesOf = (result: AgentResult): string[] =>
  reviewOutput.parse(done(result).output).findings.map(({ file, rule }) => `${file} ${rule}`)
const FOUND = ['a.mjs bad-word', 'b.mjs bad-word']

/** A review by one agent, and then a turn that resumes it by another. */
const twice = async (first: SmallAgentOptions, second: SmallAgentOptions, more: Partial<AgentTurn> = {}) => {
  const transcript = new MemoryTranscript()
  const { sessionId } = done(await (await smallAgent(first)).run(starting({ transcript })))
  return (await smallAgent(second)).run(reviewing({ turn: 3, transcript, session: { mode: 'resume', id: sessionId ?? '' }, ...more }))
}

/** What came of the agent's questions, asked in a turn of the role. */
const asked = async (role: 'reviewer' | 'fixer', ask: NonNullable<SmallAgentOptions['ask']>, files = head.copy()): Promise<unknown[]> => {
  const agent = await smallAgent({ ask })
  const task =
    role === 'fixer'
      ? fixTask(diff, tracked([{ rule: 'bad-word', severity: 'error', file: 'a.mjs', line: 2, text: 'x' }], files))
      : reviewTask(diff)
  const { output } = done(await agent.run(agentTurn(task, files)))
  return JSON.parse((output as { summary: string }).summary) as unknown[]
}

const folders = async (): Promise<string[]> => (await readdir(realpathSync(tmpdir()))).filter((name) => name.startsWith('reviewloop-'))

let scratch: string
beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'acp-turns-'))
  vi.stubEnv('TMPDIR', scratch)
})
afterEach(async () => {
  // Whatever became of the turn: nothing of it is left.
  expect(await folders()).toEqual([])
  vi.unstubAllEnvs()
  await rm(scratch, { recursive: true, force: true })
})

describe('what an agent is', () => {
  it.each([
    [{ resume: 'resume' as const }, {}, true, undefined],
    [{ resume: 'load' as const }, {}, true, undefined],
    [{ resume: null }, {}, false, 'small 1 has neither session/resume nor session/load'],
    [{}, { REVIEWLOOP_ACP_STATE: '' }, false, 'no state of small 1 is named that would travel'],
  ])('is asked of itself: %j %j', async (options, environment, resume, whyCold) => {
    const agent = await smallAgent(options, { environment })
    expect(agent.version).toMatch(/^prompts \d+, acp \d+, small 1$/)
    expect(agent.capabilities).toEqual({ resume, checkpoint: resume, ownIds: false, structuredOutput: false, edits: true })
    expect(agent.whyCold).toBe(whyCold)
  })

  it.each([
    ['cannot be started', { REVIEWLOOP_ACP_COMMAND: '["/nowhere/agent"]' }, /with code 127: .*\/nowhere\/agent: not found/],
    [
      'ends at once',
      { REVIEWLOOP_ACP_COMMAND: JSON.stringify([process.execPath, '-e', 'console.error("no key"); process.exit(7)']) },
      /with code 7: no key/,
    ],
    [
      'does not speak the protocol',
      { REVIEWLOOP_ACP_COMMAND: JSON.stringify([process.execPath, '-e', 'console.log("Hello"); process.exit(0)']) },
      /with code 0/,
    ],
  ])('is said where it %s', async (_what, environment, reason) => {
    await expect(smallAgent({}, { environment })).rejects.toThrow(reason)
  })

  it('is said where it speaks another version of the protocol, or wants a login that is not named', async () => {
    await expect(smallAgent({ protocol: 7 })).rejects.toThrow('it speaks version 7 of the protocol, and 1 is needed')
    const refused = await (await smallAgent({ login: 'key' })).run(starting())
    expect(refused).toMatchObject({ kind: 'refused', reason: expect.stringContaining('Authentication required') as string })
    const agent = await smallAgent({ login: 'key' }, { environment: { REVIEWLOOP_ACP_LOGIN: 'key' } })
    expect(rulesOf(await agent.run(starting()))).toEqual(FOUND)
  })
})

describe('an answer', () => {
  it.each(['tool', 'text', 'fence'] as const)('is taken that comes by %s', async (answer) => {
    expect(rulesOf(await (await smallAgent({ answer })).run(reviewing()))).toEqual(FOUND)
  })

  it.each([
    ['was cut off', { answer: 'cut' as const }],
    ['is none', { answer: 'silent' as const }],
    ['was cut off by the agent’s own word', { stop: 'max_tokens' as const }],
    ['does not fit', { misfit: true }],
  ])('that %s is given as it is, and not mended', async (_what, options) => {
    const { output } = done(await (await smallAgent(options)).run(reviewing()))
    expect(reviewOutput.safeParse(output).success).toBe(false)
  })

  it.each([
    ['in its session', { resume: 'resume' as const }, { mode: 'start' as const, id: null }],
    ['without a session, in what the turn left', { resume: 'load' as const }, { mode: 'none' as const }],
    ['all anew, by an agent that keeps nothing', { resume: null }, { mode: 'none' as const }],
  ])('is repaired %s', async (_how, options, session) => {
    const agent = await smallAgent({ ...options, misfit: true })
    const transcript = new MemoryTranscript()
    const { sessionId } = done(await agent.run(reviewing({ transcript, session })))
    const again = sessionId === null ? session : { mode: 'resume' as const, id: sessionId }
    const repair = reviewing({ transcript, session: again, prompt: { kind: 'repair', task: reviewTask(diff), problem: 'nonsense' } })
    const result = done(await agent.run(repair))
    expect(rulesOf(result)).toEqual(FOUND)
    expect(result.sessionId).toBe(sessionId)
  })

  it.each([
    [{ stop: 'refusal' as const }, { kind: 'refused' }],
    [{ stop: 'cancelled' as const }, { kind: 'failed', error: 'AgentFailed' }],
  ])('is none where the agent ends as %j', async (options, expected) => {
    expect(await (await smallAgent(options)).run(reviewing())).toMatchObject(expected)
  })

  it('case 10: a report is no success where the agent ended for its own limit of requests', async () => {
    const result = await (await smallAgent({ stop: 'max_turn_requests' })).run(reviewing())
    expect(result).toMatchObject({ kind: 'failed', error: 'AgentFailed', reason: 'it ended for its own limit of requests in a turn' })
  })

  it('case 7: a change of several parts is answered part by part, and all of it counts', async () => {
    const line = 'x'.repeat(1500)
    const files = Object.fromEntries(['a', 'b', 'c'].map((name) => [`${name}.mjs`, `bad ${name}\n${`// ${line}\n`.repeat(5)}`]))
    const large = new MemoryFiles(files)
    const agent = await smallAgent({}, { environment: { REVIEWLOOP_ACP_CONTEXT_TOKENS: '20000' } })
    const task = reviewTask(diffTrees(new MemoryFiles(), large))
    const { output } = done(await agent.run(agentTurn(task, large)))
    const { findings, skipped } = reviewOutput.parse(output)
    expect(new Set(findings.map(({ file }) => file))).toEqual(new Set(Object.keys(files)))
    expect(skipped).toEqual([])
  })
})

describe('a session', () => {
  it.each(['resume', 'load'] as const)('is gone on with by session/%s, in another process with another home', async (resume) => {
    const transcript = new MemoryTranscript()
    const first = await (await smallAgent({ resume })).run(starting({ transcript }))
    const outstanding = tracked(reviewOutput.parse(done(first).output).findings, head)
    const mended = new MemoryFiles({ 'a.mjs': 'one\ngood a\n', 'b.mjs': 'bad b\n' })
    const session = { mode: 'resume' as const, id: done(first).sessionId ?? '' }
    const again = agentTurn(reviewTask(diffTrees(base, mended), outstanding), mended, { turn: 3, transcript, session })
    const { output, sessionId } = done(await (await smallAgent({ resume })).run(again))
    expect(sessionId).toBe(done(first).sessionId)
    // what was played back while it was loaded is no answer
    expect(reviewOutput.parse(output).accounts.map(({ status }) => status)).toEqual(['fixed', 'open'])
    const [, state] = transcript.entries.filter((entry) => (entry as { type: string }).type === 'turn')
    expect(JSON.stringify(state)).toContain('are as you have seen them before')
  })

  it.each([
    ['unknown to it', { unknown: 'not-found' as const }, 'not found'],
    ['dead in its own words', { unknown: 'error' as const }, 'no rollout found'],
  ])('that is %s is lost', async (_what, options, reason) => {
    const transcript = new MemoryTranscript()
    const agent = await smallAgent(options)
    const { sessionId } = done(await agent.run(starting({ transcript })))
    // its state did not travel
    const left = transcript.entries.filter((entry) => (entry as { type: string }).type !== 'file')
    const result = await agent.run(
      reviewing({ turn: 3, transcript: new MemoryTranscript(left), session: { mode: 'resume', id: sessionId ?? '' } }),
    )
    expect(result).toMatchObject({ kind: 'session_lost', reason: expect.stringMatching(new RegExp(reason, 'i')) as string })
  })

  it.each(['new', 'new-told'] as const)('case 23: that comes back under another id is named by it (%s)', async (unknown) => {
    const transcript = new MemoryTranscript()
    const agent = await smallAgent({ unknown })
    const { sessionId } = done(await agent.run(starting({ transcript })))
    const left = transcript.entries.filter((entry) => (entry as { type: string }).type !== 'file')
    const session = { mode: 'resume' as const, id: sessionId ?? '' }
    const result = done(await agent.run(reviewing({ turn: 3, transcript: new MemoryTranscript(left), session })))
    expect(result.sessionId).not.toBe(sessionId)
  })

  it('of another version of the agent is lost', async () => {
    expect(await twice({}, { version: '2' })).toMatchObject({
      kind: 'session_lost',
      reason: expect.stringContaining('was made by') as string,
    })
  })

  it.each([
    ['a path that was not named', { path: '.ssh/config' }, 'not among the paths'],
    ['a path that climbs', { path: 'small/../.bashrc' }, 'not among the paths'],
    ['content that is no archive', { content: 'AAAA' }, 'damaged'],
  ])('whose state has %s is lost, and nothing is written', async (_what, change, reason) => {
    const transcript = new MemoryTranscript()
    const agent = await smallAgent()
    const { sessionId } = done(await agent.run(starting({ transcript })))
    const entries = transcript.entries.map((entry) =>
      (entry as { type: string }).type === 'file' ? { ...(entry as object), ...change } : entry,
    )
    const session = { mode: 'resume' as const, id: sessionId ?? '' }
    const result = await agent.run(reviewing({ turn: 3, transcript: new MemoryTranscript(entries), session }))
    expect(result).toMatchObject({ kind: 'session_lost', reason: expect.stringContaining(reason) as string })
  })

  it('does not take along what an agent made of the settings that the deployment gave it', async () => {
    const transcript = new MemoryTranscript()
    const files = { 'small/settings.json': '{}', 'small/ballast': 'ours' }
    const agent = await smallAgent({ ballast: 10 }, { environment: { REVIEWLOOP_ACP_FILES: JSON.stringify(files) } })
    const { sessionId } = done(await agent.run(starting({ transcript })))
    const paths = transcript.entries.flatMap((entry) =>
      (entry as { type: string }).type === 'file' ? [(entry as { path: string }).path] : [],
    )
    expect(paths).toEqual([`small/${sessionId}.json`])
    const session = { mode: 'resume' as const, id: sessionId ?? '' }
    expect(rulesOf(await agent.run(reviewing({ turn: 3, transcript, session })))).toEqual(FOUND)
  })

  it('whose state has grown too large to travel is lost in the turn after, and says so', async () => {
    const transcript = new MemoryTranscript()
    const agent = await smallAgent({ ballast: 101_000_000 })
    const { sessionId } = done(await agent.run(starting({ transcript })))
    const result = await agent.run(reviewing({ turn: 3, transcript, session: { mode: 'resume', id: sessionId ?? '' } }))
    expect(result).toMatchObject({ kind: 'session_lost', reason: 'the transcript holds no turn' })
  })
})

describe('a turn that does not go well', () => {
  it('fails where the agent dies in it, with how', async () => {
    expect(await (await smallAgent({ trouble: 'die' })).run(starting())).toMatchObject({
      kind: 'failed',
      error: 'AgentFailed',
      reason: 'it ended with code 3',
    })
  })

  /** Once a tool was called, the time of the turn is nearly over. */
  const late = async (options: SmallAgentOptions, more: Partial<AgentTurn> = {}): Promise<AgentResult> => {
    let ahead = 0
    const agent = await smallAgent(options, { now: () => Date.now() + ahead })
    return agent.run(starting({ deadline: Date.now() + 30_000, progress: () => (ahead = 60_000), ...more }))
  }

  it('stops at a checkpoint before its time is over, and goes on from it', async () => {
    const transcript = new MemoryTranscript()
    const stopped = await late({ trouble: 'slow' }, { transcript })
    if (stopped.kind !== 'checkpoint') throw new Error(`ended as ${stopped.kind}`)
    const task = reviewTask(diff)
    const next = reviewing({ turn: 2, transcript, session: { mode: 'resume', id: stopped.sessionId }, prompt: { kind: 'continue', task } })
    expect(rulesOf(await (await smallAgent({})).run(next))).toEqual(FOUND)
    const turns = transcript.entries.filter((entry) => (entry as { type: string }).type === 'turn')
    expect(turns).toHaveLength(1)
  })

  it.each([
    ['cannot go on later', { trouble: 'slow' as const, resume: null }],
    ['does not hear that it is to stop', { trouble: 'deaf' as const }],
  ])('times out where the agent %s', async (_what, options) => {
    expect(await late(options, { session: { mode: 'none' } })).toMatchObject({ kind: 'failed', error: 'AgentTimedOut' })
  })

  it.each([
    [
      { code: -32603, message: 'Internal error', data: { details: '429 Too many requests' } },
      { kind: 'failed', error: 'AgentThrottled' },
    ],
    [
      { code: -32603, message: 'API error: 529 overloaded' },
      { kind: 'failed', error: 'AgentOverloaded' },
    ],
    [
      { code: -32603, message: 'fetch failed' },
      { kind: 'failed', error: 'AgentOverloaded' },
    ],
    [{ code: -32603, message: '401 invalid api key' }, { kind: 'refused' }],
    [{ code: -32000, message: 'Authentication required' }, { kind: 'refused' }],
    [{ code: -32603, message: 'blocked by content filter' }, { kind: 'refused' }],
    [
      { code: -32603, message: 'maximum context length exceeded' },
      { kind: 'failed', error: 'AgentFailed' },
    ],
    [
      { code: -32603, message: 'something else' },
      { kind: 'failed', error: 'AgentFailed' },
    ],
  ])('is told apart by what the agent says: %j', async (error, expected) => {
    expect(await (await smallAgent({ error })).run(starting())).toMatchObject(expected)
  })

  it.each(['maximum context length exceeded', 'Resource not found'])(
    'loses a resumed session that its model cannot take in: %s',
    async (message) => {
      const error = { code: message.startsWith('Resource') ? -32002 : -32603, message }
      expect(await twice({}, { error })).toMatchObject({ kind: 'session_lost' })
    },
  )

  it('leaves no process behind that the agent started', async () => {
    const file = join(scratch, 'pid')
    await (await smallAgent({ child: file })).run(reviewing())
    const pid = Number(await readFile(file, 'utf8'))
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), { timeout: 10_000 })
  })

  it('finds a folder that a killed process left, and does not take one that is in use', async () => {
    const transcript = new MemoryTranscript()
    const agent = await smallAgent()
    const { sessionId } = done(await agent.run(starting({ transcript })))
    const { place } = transcript.entries.find((entry) => (entry as { type: string }).type === 'place') as { place: string }
    const folder = join(realpathSync(scratch), `reviewloop-acp-${place}`)
    const session = { mode: 'resume' as const, id: sessionId ?? '' }
    const left = async (pid: number): Promise<AgentResult> => {
      await mkdir(folder, { recursive: true })
      await writeFile(join(folder, 'owner'), String(pid))
      return agent.run(reviewing({ turn: 3, transcript: new MemoryTranscript(transcript.entries), session }))
    }
    expect(await left(process.pid)).toMatchObject({ kind: 'failed', error: 'AgentFailed', reason: 'another turn is at work in its folder' })
    expect((await left(2 ** 22 + 1)).kind).toBe('done')
  })
})

describe('what a turn used', () => {
  const usage = { inputTokens: 100, outputTokens: 20, totalTokens: 120, cachedReadTokens: 0 }

  it('is what the agent tells; what it does not tell is unknown, and nothing is a number', async () => {
    const told = await (await smallAgent({ usage, context: 5000, cost: { amount: 0.5, currency: 'USD' } })).run(starting())
    expect(told.usage).toEqual({ input: 100, output: 20, cacheRead: 0, cacheWrite: null, dollars: 0.5, calls: 1 })
    expect(told).toMatchObject({ context: 5000 })
    const silent = await (await smallAgent()).run(starting())
    expect(silent.usage).toEqual({ input: null, output: null, cacheRead: null, cacheWrite: null, dollars: null, calls: 1 })
    expect(silent).not.toHaveProperty('context')
  })

  it('is its own part of what the session has cost, and of other money nothing is known', async () => {
    const cost = (amount: number) => ({ context: 10, cost: { amount, currency: 'USD' } })
    expect((await twice(cost(2), cost(2.5))).usage.dollars).toBe(0.5)
    expect((await twice(cost(2), cost(0.25))).usage.dollars).toBe(0.25)
    expect((await twice({}, { context: 10, cost: { amount: 3, currency: 'EUR' } })).usage.dollars).toBeNull()
  })

  it('ends it where a cap is reached', async () => {
    const agent = await smallAgent({ usage, trouble: 'slow', context: 10, cost: { amount: 3, currency: 'USD' } })
    expect(await agent.run(starting({ budget: { tokens: 1000, dollars: 2, calls: 9 } }))).toMatchObject({ kind: 'limit', limit: 'dollars' })
    expect(await agent.run(starting({ budget: { tokens: 0, dollars: 9, calls: 9 } }))).toMatchObject({ kind: 'limit', limit: 'tokens' })
    expect(await agent.run(starting({ budget: { tokens: 9, dollars: 9, calls: 0 } }))).toMatchObject({ kind: 'limit', limit: 'turn_calls' })
  })
})

describe('what an agent may do', () => {
  const permission = (kind: string | undefined, title: string, more: { path?: string; earlier?: string } = {}) => ({
    permission: { ...(kind === undefined ? {} : { kind }), title, ...more },
  })
  const questions = [
    permission('execute', 'ls'),
    permission('execute', 'mcp__reviewloop__read_file'),
    permission('fetch', 'http://example.com'),
    permission(undefined, 'mcp__reviewloop__read_file'),
    permission('other', 'report_findings (reviewloop MCP Server): {}'),
    permission('other', '{"a":1}', { earlier: 'mcp__reviewloop__report_findings' }),
    permission('other', 'mcp__reviewloop__edit_file'),
    permission('other', 'agent: mcp__reviewloop__read_file'),
    permission('other', 'read_file'),
    permission('read', 'a.mjs', { path: 'CWD/a.mjs' }),
    permission('read', 'passwd', { path: '/etc/passwd' }),
    permission('read', 'climb', { path: 'CWD/../home/x' }),
    permission('search', 'everywhere'),
    permission('edit', 'a.mjs', { path: 'CWD/a.mjs' }),
    permission('edit', 'profile', { path: '/etc/profile' }),
    permission('think', 'a subagent'),
  ]

  it('is, as a reviewer, to read the repository and to report', async () => {
    const [YES, NO] = ['allow_once', 'reject_once']
    expect(await asked('reviewer', questions)).toEqual([NO, NO, NO, YES, YES, YES, NO, NO, NO, YES, NO, NO, NO, NO, NO, NO])
  })

  it('is, as a fixer, to edit it besides', async () => {
    const [YES, NO] = ['allow_once', 'reject_once']
    expect(await asked('fixer', questions)).toEqual([NO, NO, NO, YES, NO, NO, YES, NO, NO, YES, NO, NO, NO, YES, NO, NO])
  })

  it('is nothing for good where there is another option, and is called off where there is none', async () => {
    const ask = [
      { ...permission(undefined, 'mcp__reviewloop__read_file'), options: ['allow_always', 'reject_always'] },
      { ...permission('execute', 'ls'), options: ['allow_once'] },
    ]
    expect(await asked('reviewer', ask)).toEqual(['allow_always', 'cancelled'])
  })

  it('is to read and write files by the client, of the repository alone', async () => {
    const files = head.copy()
    const ask = [
      { read: 'CWD/a.mjs' },
      { read: 'CWD/a.mjs', line: 2, limit: 1 },
      { read: 'CWD/none.mjs' },
      { read: '/etc/passwd' },
      { read: 'CWD/../owner' },
      { write: 'CWD/new.mjs', content: 'new\n' },
      { write: '/tmp/new.mjs', content: 'new\n' },
    ]
    const refused = expect.stringContaining('refused') as string
    const [all, part, ...rest] = await asked('fixer', ask, files)
    expect([all, part]).toEqual(['one\nbad a\n', 'bad a'])
    expect(rest).toEqual([refused, refused, refused, 'written', refused])
    expect(files.text('new.mjs')).toBe('new\n')
    expect(await asked('reviewer', [{ write: 'CWD/new.mjs', content: 'new\n' }])).toEqual([refused])
  })

  it('case 21: is to see nothing of the environment but what is named', async () => {
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'tweety')
    vi.stubEnv('REVIEWLOOP_GIT_TOKEN', 'tweety')
    vi.stubEnv('MODEL_KEY', 'known')
    const agent = await smallAgent(
      { ask: [{ environment: ['AWS_SECRET_ACCESS_KEY', 'REVIEWLOOP_GIT_TOKEN', 'MODEL_KEY', 'HOME'] }] },
      { environment: { REVIEWLOOP_ACP_ENVIRONMENT: 'MODEL_KEY' } },
    )
    const { output } = done(await agent.run(reviewing()))
    const [[secret, token, key, home]] = JSON.parse((output as { summary: string }).summary) as [(string | null)[]]
    expect([secret, token, key]).toEqual([null, null, 'known'])
    expect(home).toContain('reviewloop-acp-')
  })

  it('is to use the tools of its role, and no other', async () => {
    const [edit, unknown, read] = await asked('reviewer', [
      { tool: 'edit_file', input: { file: 'a.mjs', before: 'one', after: 'two' } },
      { tool: 'run', input: {} },
      { tool: 'read_file', input: { file: '../owner' } },
    ])
    for (const one of [edit, unknown])
      expect(one).toMatchObject({ isError: true, text: expect.stringContaining('there is no tool') as string })
    expect(read).toMatchObject({ isError: true })
  })
})
