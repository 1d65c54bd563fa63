/** Our confined file tools as a server in this process, in the place of all that the command-line tool has built in. */
import { randomUUID } from 'node:crypto'
import type { AgentTurn } from '../../loop/agent.ts'
import { EDIT_TOOLS } from '../tools/edit-tools.ts'
import { READ_TOOLS } from '../tools/read-tools.ts'
import { runTool } from '../tools/tool.ts'
import type { ClaudeSdk, McpTool } from './sdk.ts'

const SERVER = 'workspace'
/** A result that is larger than this, in characters, would be put into a file that the model cannot read. Our tools give less. */
const WHOLE = { 'anthropic/maxResultSizeChars': 400_000 }

export interface WorkspaceTools {
  servers: Record<string, unknown>
  /** Names under which the model knows the tools. */
  names: string[]
}

/** The tools of the turn's role. What breaks in one goes to `broken`; what it refuses is a result for the model. */
export const workspaceTools = (sdk: ClaudeSdk, turn: AgentTurn, broken: (error: unknown) => void): WorkspaceTools => {
  const tools = turn.role === 'fixer' ? [...READ_TOOLS, ...EDIT_TOOLS] : READ_TOOLS
  const served = tools.map(({ name, description, fields }): McpTool => ({
    name,
    description,
    inputSchema: fields,
    _meta: WHOLE,
    handler: async (input) => {
      turn.progress(`${turn.role}: ${name}`)
      const { ok, text } = await runTool(tools, { id: randomUUID(), name, input }, turn).catch((error: unknown) => {
        broken(error)
        return { ok: false, text: 'The tool is broken.' }
      })
      return { content: [{ type: 'text', text }], isError: !ok }
    },
  }))
  return {
    servers: { [SERVER]: sdk.createSdkMcpServer({ name: SERVER, version: '1.0.0', tools: served, alwaysLoad: true }) },
    names: tools.map(({ name }) => `mcp__${SERVER}__${name}`),
  }
}
