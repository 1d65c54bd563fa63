/** A small agent of the protocol, for what real ones do not show: the plain model in a process of its own. Its options are its argument. */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import {
  agent,
  type AgentContext,
  methods,
  ndJsonStream,
  type LoadSessionResponse,
  type RequestPermissionRequest,
  PROTOCOL_VERSION,
  RequestError,
  type McpServer,
  type PermissionOptionKind,
  type PromptResponse,
  type ToolKind,
} from '@agentclientprotocol/sdk'
import type { Message } from '@aws-sdk/client-bedrock-runtime'
import { plainModel } from '../model-server/plain-model.ts'
import { type McpClient, startMcpClient } from './mcp-client.ts'
import type { SmallAgentOptions } from './options.ts'

const options = JSON.parse(process.argv[2] ?? '{}') as SmallAgentOptions
const { resume = 'resume', answer = 'tool', words } = options
const model = plainModel({ oneByOne: true, ...(words ? { words } : {}) })
const STATE = join(homedir(), 'small')
const PROMPT = 'The key of the data in this message is'

interface Session {
  id: string
  messages: Message[]
  server: McpServer | undefined
  tools: McpClient | null
  cancelled: AbortController
  isLoggedIn: boolean
}
const sessions = new Map<string, Session>()
let isLoggedIn = options.login === undefined

const fileOf = (id: string): string => join(STATE, `${id}.json`)
const save = ({ id, messages }: Session): void => {
  mkdirSync(STATE, { recursive: true })
  writeFileSync(fileOf(id), JSON.stringify(messages))
  if (options.ballast === undefined) return
  writeFileSync(join(STATE, 'ballast'), '')
  truncateSync(join(STATE, 'ballast'), options.ballast)
}

const begin = (id: string, messages: Message[], servers: readonly McpServer[]): Session => {
  if (!isLoggedIn) throw RequestError.authRequired()
  const session = { id, messages, server: servers[0], tools: null, cancelled: new AbortController(), isLoggedIn }
  sessions.set(id, session)
  return session
}

/** The protocol's answer has no id; one that is told all the same is out of its types. */
const reopen = ({ sessionId, mcpServers = [] }: { sessionId: string; mcpServers?: McpServer[] }): LoadSessionResponse => {
  if (existsSync(fileOf(sessionId))) {
    begin(sessionId, JSON.parse(readFileSync(fileOf(sessionId), 'utf8')) as Message[], mcpServers)
    return {}
  }
  if (options.unknown === 'error') throw new RequestError(-32603, 'Internal error', { details: 'no rollout found' })
  if (options.unknown !== 'new' && options.unknown !== 'new-told') throw RequestError.resourceNotFound(sessionId)
  const other = begin(randomUUID(), [], mcpServers)
  sessions.set(sessionId, other)
  return options.unknown === 'new-told' ? ({ sessionId: other.id } as LoadSessionResponse) : {}
}

const say = (client: AgentContext, session: Session, text: string): Promise<void> =>
  client.notify(methods.client.session.update, {
    sessionId: session.id,
    update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } },
  })

/** Forever, or until it is called off. */
const hang = ({ cancelled }: Session): Promise<void> =>
  new Promise((resolve) => {
    setInterval(() => undefined, 1000)
    if (options.trouble !== 'deaf') cancelled.signal.addEventListener('abort', () => resolve())
  })

const askAll = async (client: AgentContext, session: Session): Promise<unknown[]> => {
  const came: unknown[] = []
  for (const one of options.ask ?? [])
    came.push(await askOne(client, session, one).catch((error: unknown) => `refused: ${(error as Error).message}`))
  return came
}

const askOne = async (client: AgentContext, session: Session, one: NonNullable<SmallAgentOptions['ask']>[number]): Promise<unknown> => {
  const sessionId = session.id
  if ('read' in one) {
    const { read: path, ...part } = one
    return (await client.request(methods.client.fs.readTextFile, { sessionId, path: path.replace('CWD', process.cwd()), ...part })).content
  }
  if ('write' in one) {
    await client.request(methods.client.fs.writeTextFile, {
      sessionId,
      path: one.write.replace('CWD', process.cwd()),
      content: one.content,
    })
    return 'written'
  }
  if ('environment' in one) return one.environment.map((name) => process.env[name] ?? null)
  if ('tool' in one) return session.tools?.call(one.tool, one.input)
  const { kind, title, path, earlier } = one.permission
  const toolCall = {
    toolCallId: randomUUID(),
    title,
    ...(kind === undefined ? {} : { kind: kind as ToolKind }),
    ...(path === undefined ? {} : { locations: [{ path: path.replace('CWD', process.cwd()) }] }),
  }
  if (earlier !== undefined)
    await client.notify(methods.client.session.update, { sessionId, update: { sessionUpdate: 'tool_call', ...toolCall, title: earlier } })
  const kinds = one.options ?? ['allow_always', 'allow_once', 'reject_once']
  const request: RequestPermissionRequest = {
    sessionId,
    toolCall,
    options: kinds.map((name) => ({ optionId: name, name, kind: name as PermissionOptionKind })),
  }
  const { outcome } = await client.request(methods.client.session.requestPermission, request)
  return outcome.outcome === 'selected' ? outcome.optionId : outcome.outcome
}

const userMessage = (text: string): Message => {
  const at = text.indexOf(PROMPT)
  const texts = at > 0 ? [text.slice(0, at), text.slice(at)] : [text]
  return { role: 'user', content: texts.map((part) => ({ text: part })) }
}

const roleOf = (messages: readonly Message[]): string => /You are the \w+/.exec(messages[0]?.content?.[0]?.text ?? '')?.[0] ?? ''

const answerText = (output: unknown): string => {
  const text = JSON.stringify(output)
  if (answer === 'fence') return `Here is what I found.\n\n\`\`\`json\n${text}\n\`\`\`\n`
  return answer === 'cut' ? text.slice(0, -4) : text
}

/** One prompt: the model's calls are made until it reports. */
const work = async (client: AgentContext, session: Session): Promise<PromptResponse> => {
  const { messages } = session
  if (!session.server || !('command' in session.server)) throw new Error('there is no server of tools')
  session.tools ??= await startMcpClient(session.server)
  if (JSON.stringify(messages.at(-1)).includes('hang.mjs')) await hang(session)
  const came = await askAll(client, session)
  for (let call = 1; ; call++) {
    if (session.cancelled.signal.aborted) return { stopReason: 'cancelled' }
    const reply = await model({ modelId: 'small', system: [{ text: roleOf(messages) }], messages, raw: '', httpVersion: '' }, call)
    const [tool] = 'tools' in reply ? (reply.tools ?? []) : []
    if (!tool) return { stopReason: 'end_turn' }
    const input = tool.name === 'report' ? withAnswers(tool.input, came, messages) : tool.input
    const id = randomUUID()
    messages.push({ role: 'assistant', content: [{ toolUse: { toolUseId: id, name: tool.name, input: input as never } }] })
    const isReport = tool.name === 'report'
    const text =
      isReport && answer !== 'tool' ? 'Reported.' : await callTool(client, session, isReport ? reportName(session) : tool.name, input)
    messages.push({ role: 'user', content: [{ toolResult: { toolUseId: id, content: [{ text }], status: 'success' } }] })
    save(session)
    if (isReport) {
      if (answer === 'silent') await say(client, session, 'All is well.')
      else if (answer !== 'tool') await say(client, session, answerText(input))
      else await say(client, session, 'Done.')
      return { stopReason: options.stop ?? 'end_turn', ...(options.usage ? { usage: options.usage } : {}) }
    }
    if (options.trouble === 'die') process.exit(3)
    if (options.trouble) await hang(session)
  }
}

const reportName = ({ tools }: Session): string => tools?.tools.find((name) => name.startsWith('report_')) ?? ''

/** What came of its questions goes into the summary, and a misfit is one until it is asked to repair it. */
const withAnswers = (input: unknown, came: readonly unknown[], messages: readonly Message[]): unknown => {
  const isRepair = JSON.stringify(messages).includes('does not fit its schema')
  if (options.misfit && !isRepair) return { nonsense: true }
  return came.length === 0 ? input : { ...(input as object), summary: JSON.stringify(came) }
}

const callTool = async (client: AgentContext, session: Session, name: string, input: unknown): Promise<string> => {
  const toolCallId = randomUUID()
  const title = `mcp__reviewloop__${name}`
  await client.notify(methods.client.session.update, {
    sessionId: session.id,
    update: { sessionUpdate: 'tool_call', toolCallId, title, kind: 'other' },
  })
  const { text } = (await session.tools?.call(name, input)) ?? { text: '' }
  await client.notify(methods.client.session.update, {
    sessionId: session.id,
    update: { sessionUpdate: 'tool_call_update', toolCallId, status: 'completed' },
  })
  return text
}

if (options.child !== undefined) {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  writeFileSync(options.child, String(child.pid))
}

agent({ name: 'small' })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: options.protocol ?? PROTOCOL_VERSION,
    agentInfo: { name: options.name ?? 'small', version: options.version ?? '1' },
    agentCapabilities: {
      loadSession: resume === 'load',
      ...(resume === 'resume' ? { sessionCapabilities: { resume: {} } } : {}),
    },
  }))
  .onRequest(methods.agent.authenticate, ({ params }) => {
    isLoggedIn = params.methodId === options.login
    return {}
  })
  .onRequest(methods.agent.session.new, ({ params }) => ({ sessionId: begin(randomUUID(), [], params.mcpServers).id }))
  .onRequest(methods.agent.session.resume, ({ params }) => reopen(params))
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    const opened = reopen(params)
    const session = sessions.get(params.sessionId)
    // A session that is loaded is played back.
    if (session) await say(client, session, '{"findings": [], "accounts": [], "skipped": [], "summary": "of old"}')
    return opened
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => sessions.get(params.sessionId)?.cancelled.abort())
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const session = sessions.get(params.sessionId)
    if (!session) throw RequestError.sessionNotFound(params.sessionId)
    const [block] = params.prompt
    session.messages.push(userMessage(block?.type === 'text' ? block.text : ''))
    save(session)
    if (options.error) throw new RequestError(options.error.code, options.error.message, options.error.data)
    if (options.context !== undefined)
      await client.notify(methods.client.session.update, {
        sessionId: session.id,
        update: { sessionUpdate: 'usage_update', used: options.context, size: 200_000, ...(options.cost ? { cost: options.cost } : {}) },
      })
    return work(client, session)
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin) as ReadableStream<Uint8Array>))

// What an agent does that is well behaved: the end of its input is its own.
process.stdin.on('close', () => process.exit(0))
