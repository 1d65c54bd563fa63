/**
 * The tools that an agent is given: an MCP server on a socket in the session's folder. The agent starts a child that does nothing but
 * pass lines between its own stdio and the socket, since stdio is what every agent knows.
 */
import { createServer, type Socket } from 'node:net'
import { Server } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import type { AgentTurn } from '../../loop/agent.ts'
import { answerOf, answerSchema } from '../../loop/prompts/answer-schema.ts'
import { EDIT_TOOLS } from '../tools/edit-tools.ts'
import { READ_TOOLS } from '../tools/read-tools.ts'
import { runTool, type Tool } from '../tools/tool.ts'

/** As the agent knows the server. */
export const SERVER = 'reviewloop'

export const reportTool = (role: AgentTurn['role']): string => (role === 'fixer' ? 'report_fixes' : 'report_findings')

const toolsOf = (role: AgentTurn['role']): readonly Tool[] => (role === 'fixer' ? [...READ_TOOLS, ...EDIT_TOOLS] : READ_TOOLS)

/** Names of all tools of a role. */
export const toolNames = (role: AgentTurn['role']): string[] => [...toolsOf(role).map(({ name }) => name), reportTool(role)]

const BRIDGE = `
const socket = require('node:net').connect(process.argv[1])
process.stdin.pipe(socket).pipe(process.stdout)
socket.on('error', () => process.exit(1)).on('close', () => process.exit(0))
`

export interface ToolServer extends AsyncDisposable {
  /** How an agent starts what speaks to it. */
  command: { name: string; command: string; args: string[]; env: [] }
}

export interface ToolEvents {
  /** Something was reported, as it came. */
  onReport: (output: unknown) => void
  /** A tool broke: the turn cannot go on. What a tool refuses is a result like any other. */
  onBroken: (error: unknown) => void
}

/** Serves the role's tools on a socket until it is disposed of. */
export const serveTools = async (turn: AgentTurn, socketPath: string, events: ToolEvents): Promise<ToolServer> => {
  const open = new Set<Socket>()
  const listener = createServer((socket) => {
    open.add(socket)
    socket.on('error', () => socket.destroy()).on('close', () => open.delete(socket))
    const server = serverOf(turn, events)
    server.connect(new StdioServerTransport(socket, socket)).catch(() => socket.destroy())
  })
  await new Promise<void>((resolve, reject) => listener.once('error', reject).listen(socketPath, resolve))
  return {
    command: { name: SERVER, command: process.execPath, args: ['-e', BRIDGE, socketPath], env: [] },
    [Symbol.asyncDispose]: async () => {
      for (const socket of open) socket.destroy()
      await new Promise<void>((resolve) => listener.close(() => resolve()))
    },
  }
}

const serverOf = (turn: AgentTurn, { onReport, onBroken }: ToolEvents): Server => {
  const tools = toolsOf(turn.role)
  const report = reportTool(turn.role)
  const server = new Server({ name: SERVER, version: '1' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({
    tools: [
      ...tools.map(({ name, description, schema }) => ({
        name,
        description,
        inputSchema: { ...schema, type: 'object' as const },
        annotations: { readOnlyHint: READ_TOOLS.some((one) => one.name === name), openWorldHint: false },
      })),
      {
        name: report,
        description: 'Reports the result of the task. Call it once, when the work is done; nothing else that you say reaches anybody.',
        inputSchema: { ...answerSchema(turn.prompt.task), type: 'object' as const },
        annotations: { readOnlyHint: true, openWorldHint: false },
      },
    ],
  }))
  server.setRequestHandler('tools/call', async ({ params }) => {
    const { name, arguments: input = {} } = params
    turn.progress(`${turn.role}: ${name.slice(0, 100)}`)
    if (name === report) {
      onReport(answerOf(input))
      return { content: [{ type: 'text', text: 'Reported.' }] }
    }
    try {
      const { ok, text } = await runTool(tools, { id: '', name, input }, turn)
      return { content: [{ type: 'text', text }], isError: !ok }
    } catch (error) {
      onBroken(error)
      return { content: [{ type: 'text', text: 'The tool is broken.' }], isError: true }
    }
  })
  return server
}
