/** What the command-line tool of the agent `claude` is given, what it is not, and whom it calls. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { AgentTurn } from '../../lib/loop/agent.ts'
import { agentTurn, fixTask, MemoryTranscript, reviewTask } from '../support/agent-turn.ts'
import { diffTrees, MemoryFiles } from '../support/memory-files.ts'
import type { ModelReply, ModelRequest } from '../support/model-server/bedrock.ts'
import { claudeBench } from '../support/model-server/claude-agent.ts'
import { aFinding } from '../support/runs.ts'

const bench = claudeBench()
const BASE = new MemoryFiles({ 'a.mjs': 'one\n' })
const HEAD = new MemoryFiles({ 'a.mjs': 'one\nbad a\n' })
const DIFF = diffTrees(BASE, HEAD)
const reviewing = (more: Partial<AgentTurn> = {}): AgentTurn => agentTurn(reviewTask(DIFF), HEAD.copy(), more)
const report = (input: object = {}): ModelReply => ({
  tools: [{ name: 'report', input: { findings: [], accounts: [], skipped: [], summary: 'clean', ...input } }],
})
const toolsOf = (request: ModelRequest | undefined): string[] =>
  (request?.toolConfig?.tools ?? []).flatMap(({ toolSpec }) => toolSpec?.name ?? []).toSorted()

/** Processes that this one has started, and what each can see around it. */
const children = async (): Promise<{ command: string; environment: Record<string, string> }[]> => {
  const found = await Promise.all(
    (await readdir('/proc'))
      .filter((name) => /^\d+$/.test(name))
      .map(async (pid) => {
        const [stat, command, environ] = await Promise.all(
          ['stat', 'cmdline', 'environ'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')),
        )
        if (stat?.split(') ')[1]?.split(' ')[1] !== String(process.pid)) return []
        const pairs = (environ ?? '').split('\0').map((pair) => [pair.split('=')[0] ?? '', pair.slice(pair.indexOf('=') + 1)])
        return [{ command: command ?? '', environment: Object.fromEntries(pairs) as Record<string, string> }]
      }),
  )
  return found.flat().filter(({ command }) => command.includes('claude-agent-sdk'))
}

describe('a request', () => {
  it('has the tools of its role, and none of those that the tool has built in', async () => {
    bench.server.model = () => report()
    await bench.agent().run(reviewing())
    const read = ['diff', 'list_files', 'read_file', 'search']
    expect(toolsOf(bench.server.requests[0])).toEqual([...read, 'report'].toSorted())
    bench.server.requests.length = 0
    bench.server.model = () => ({ tools: [{ name: 'report', input: { results: [], summary: 'none' } }] })
    await bench.agent().run(agentTurn(fixTask(DIFF, [{ ...aFinding(), file: 'a.mjs' }]), HEAD.copy()))
    expect(toolsOf(bench.server.requests[0])).toEqual([...read, 'report', 'edit_file', 'write_file', 'delete_file'].toSorted())
  })

  it('carries the settings of the deployment', async () => {
    bench.server.model = () => report()
    await bench
      .agent({ REVIEWLOOP_CLAUDE_MODEL: 'claude-other', REVIEWLOOP_CLAUDE_EFFORT: 'low', REVIEWLOOP_CLAUDE_MAX_TOKENS: '4000' })
      .run(reviewing())
    expect(JSON.parse(bench.server.requests[0]?.raw ?? '{}')).toMatchObject({
      model: 'claude-other',
      max_tokens: 4000,
      output_config: { effort: 'low' },
    })
    expect(bench.server.headers['x-api-key']).toBe('local-key')
  })

  it('holds what a tool gave, whole, however much that is', async () => {
    const files = new MemoryFiles({ 'a.mjs': `${'x'.repeat(190)}\n`.repeat(480) })
    bench.server.script.push({ tools: [{ name: 'read_file', input: { file: 'a.mjs', line: null } }] })
    bench.server.model = () => report()
    await bench.agent().run(reviewing({ files }))
    const result = bench.server.requests[1]?.messages?.flatMap(({ content = [] }) =>
      content.flatMap(({ toolResult }) => toolResult?.content ?? []),
    )
    expect(result?.[0]?.text?.split('\n')).toHaveLength(480)
  })

  it('of a tool that it does not have is answered, and nothing is run', async () => {
    bench.server.script.push({ tools: [{ name: 'bash', input: { command: 'touch /tmp/never' } }] })
    bench.server.model = () => report()
    expect(await bench.agent().run(reviewing())).toMatchObject({ kind: 'done' })
    expect(bench.server.requests[1]?.raw).toContain('No such tool available')
  })
})

describe('around the tool', () => {
  afterEach(() => {
    vi.stubEnv('ANTHROPIC_BASE_URL', bench.server.url)
  })

  it('is an empty home and nothing of what this process knows, and none of it stays', async () => {
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'canary-aws')
    vi.stubEnv('REVIEWLOOP_GIT_TOKEN', 'canary-git')
    let seen: Awaited<ReturnType<typeof children>> = []
    bench.server.model = async () => {
      seen = await children()
      return report()
    }
    await bench.agent().run(reviewing())
    expect(seen).toHaveLength(1)
    const environment = seen[0]?.environment ?? {}
    expect(JSON.stringify(seen)).not.toContain('canary')
    expect(environment['HOME']).toMatch(/reviewloop-cli-\w+$/)
    expect(environment['ANTHROPIC_API_KEY']).toBe('local-key')
    expect(Object.keys(environment).filter((name) => /^(AWS|REVIEWLOOP|npm|VITEST)/i.test(name))).toEqual([])
    expect((await readdir(tmpdir())).includes(environment['HOME']?.split('/').at(-1) ?? '')).toBe(false)
    expect(await children()).toEqual([])
  })

  it('are no settings, hooks, skills or instructions of a person or a repository', async () => {
    const home = await mkdtemp(join(tmpdir(), 'claude-home-'))
    try {
      const mark = join(home, 'ran')
      const hook = { hooks: { UserPromptSubmit: [{ hooks: [{ type: 'command', command: `touch ${mark}` }] }] } }
      for (const folder of ['.claude', 'repository/.claude']) {
        await mkdir(join(home, folder), { recursive: true })
        await writeFile(join(home, folder, 'settings.json'), JSON.stringify(hook))
        await writeFile(join(home, folder, 'CLAUDE.md'), 'canary-instruction')
      }
      await writeFile(join(home, 'repository/CLAUDE.md'), 'canary-instruction')
      await writeFile(join(home, 'repository/.mcp.json'), JSON.stringify({ mcpServers: { evil: { command: 'touch', args: [mark] } } }))
      vi.stubEnv('HOME', home)
      bench.server.model = () => report()
      await bench.agent().run(reviewing({ root: join(home, 'repository') }))
      expect(bench.server.requests.map(({ raw }) => raw).join()).not.toContain('canary-instruction')
      expect(await readdir(home)).toEqual(['.claude', 'repository'])
    } finally {
      await rm(home, { recursive: true, force: true })
    }
  })

  it('is a network of which it uses the way to the model, and no other', async () => {
    const tried: string[] = []
    const proxy = createServer((request, response) => {
      tried.push(request.url ?? '')
      response.writeHead(502).end()
    })
    proxy.on('connect', (request, socket) => {
      tried.push(request.url ?? '')
      socket.destroy()
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    try {
      for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy']) vi.stubEnv(name, url)
      for (const name of ['NO_PROXY', 'no_proxy']) vi.stubEnv(name, '127.0.0.1')
      bench.server.script.push({ tools: [{ name: 'list_files', input: { folder: null } }] })
      bench.server.model = () => report()
      expect(await bench.agent().run(reviewing())).toMatchObject({ kind: 'done' })
      expect(new Set(bench.server.asked)).toEqual(new Set(['POST /v1/messages']))
      expect(tried).toEqual([])
      // the proxy would have seen it: a model that is not here is asked for through it
      vi.stubEnv('ANTHROPIC_BASE_URL', 'http://model.invalid')
      await bench.agent().run(reviewing())
      expect(tried.length).toBeGreaterThan(0)
    } finally {
      for (const name of ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy', 'NO_PROXY', 'no_proxy']) vi.stubEnv(name, undefined)
      proxy.close()
      proxy.closeAllConnections()
    }
  })
})

describe('through Bedrock', () => {
  it('a turn is taken, a session resumed, and a throttle told', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDLOCAL')
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'local')
    const settings = {
      REVIEWLOOP_CLAUDE_PROVIDER: 'bedrock',
      REVIEWLOOP_CLAUDE_MODEL: 'eu.anthropic.some-model-v1:0',
      REVIEWLOOP_CLAUDE_REGION: 'eu-west-1',
    }
    const transcript = new MemoryTranscript()
    const id = '7d9f6f0e-6a5e-4c39-9d7c-1f0c7a3f1a11'
    const result = await bench.agent(settings).run(reviewing({ session: { mode: 'start', id }, transcript }))
    expect(result).toMatchObject({ kind: 'done', sessionId: id, output: { findings: [{ rule: 'bad-word' }] }, usage: { calls: 2 } })
    // it asks for the list of inference profiles, and does without
    expect(new Set(bench.server.asked)).toEqual(
      new Set(['GET /inference-profiles', 'POST /model/eu.anthropic.some-model-v1:0/invoke-with-response-stream']),
    )
    expect(bench.server.headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=AKIDLOCAL\/\d+\/eu-west-1\/bedrock\//)
    const again = await bench.agent(settings).run(reviewing({ turn: 3, session: { mode: 'resume', id }, transcript }))
    expect(again).toMatchObject({ kind: 'done', sessionId: id })
    expect(bench.server.requests.at(-1)?.raw.split('The key of the data in this message').length).toBe(3)
    bench.server.model = () => ({ error: 'ThrottlingException', status: 429, message: 'because' })
    expect(await bench.agent(settings).run(reviewing())).toMatchObject({ kind: 'failed', error: 'AgentThrottled' })
  })
})

describe('a repair', () => {
  it.each([{ mode: 'none' as const }, { mode: 'start' as const, id: '7d9f6f0e-6a5e-4c39-9d7c-1f0c7a3f1a11' }])(
    'goes on in the same conversation, session or not: %j',
    async (session) => {
      const transcript = new MemoryTranscript()
      const turn = reviewing({ session, transcript })
      bench.server.model = () => report({ summary: 'first' })
      expect(await bench.agent().run(turn)).toMatchObject({ kind: 'done', output: { summary: 'first' } })
      bench.server.model = () => report({ summary: 'better' })
      const repaired = await bench.agent().run({
        ...turn,
        session: session.mode === 'none' ? session : { mode: 'resume', id: session.id },
        prompt: { kind: 'repair', task: turn.prompt.task, problem: 'findings: no array' },
      })
      expect(repaired).toMatchObject({
        kind: 'done',
        output: { summary: 'better' },
        sessionId: session.mode === 'none' ? null : session.id,
      })
      const raw = bench.server.requests.at(-1)?.raw ?? ''
      expect(raw).toContain('findings: no array')
      expect(raw).toContain('The change has 1 file')
    },
  )
})

it('a change that does not fit into one message is shown in part, and the rest reported as not reviewed', async () => {
  const names = ['a.mjs', 'b.mjs', 'c.mjs']
  const files = new MemoryFiles(Object.fromEntries(names.map((name) => [name, `${name} line\n`.repeat(900)])))
  bench.server.model = () => report()
  const turn = agentTurn(reviewTask(diffTrees(new MemoryFiles({}), files)), files)
  const result = await bench.agent({ REVIEWLOOP_CLAUDE_CONTEXT_TOKENS: '20000' }).run(turn)
  expect(result).toMatchObject({
    kind: 'done',
    output: {
      skipped: ['b.mjs', 'c.mjs'].map((file) => ({
        file,
        reason: expect.stringContaining('larger than what one turn may read') as string,
      })),
    },
  })
})
