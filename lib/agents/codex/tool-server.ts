/** The tools of a turn as a server of the Model Context Protocol: what of it a client needs that lists tools and calls them, each call one answer. */
import * as z from 'zod'
import type { AgentTurn } from '../../loop/agent.ts'
import { runTool, type Tool } from '../tools/tool.ts'

const message = z.looseObject({
  jsonrpc: z.literal('2.0'),
  /** None: nothing is to be answered. */
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string(),
  params: z
    .looseObject({ protocolVersion: z.string().optional(), name: z.string().optional(), arguments: z.unknown().optional() })
    .optional(),
})

export interface ToolServerOptions {
  tools: readonly Tool[]
  turn: AgentTurn
  /** Said with the result of a call, where there is something to say. */
  note: () => string | null
}

/** Answers one message; null where there is nothing to answer. Throws what broke in a tool. */
export type ToolServer = (received: unknown) => Promise<object | null>

const METHOD_NOT_FOUND = -32601

export const toolServer = ({ tools, turn, note }: ToolServerOptions): ToolServer => {
  const call = async (name: string, input: unknown): Promise<object> => {
    turn.progress(`${turn.role}: ${name}`)
    const { ok, text } = await runTool(tools, { id: '', name, input }, turn)
    const said = note()
    return { content: [{ type: 'text', text }, ...(said === null ? [] : [{ type: 'text', text: said }])], isError: !ok }
  }

  const answer = async (method: string, params: z.infer<typeof message>['params']): Promise<object | null> => {
    if (method === 'initialize')
      return {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: 'reviewloop', version: '1' },
      }
    if (method === 'tools/list')
      return { tools: tools.map(({ name, description, schema }) => ({ name, description, inputSchema: schema })) }
    if (method !== 'tools/call') return null
    const { name = '', arguments: input = {} } = params ?? {}
    return call(name, input)
  }

  return async (received) => {
    const { id, method, params } = message.parse(received)
    if (id === undefined) return null
    const result = await answer(method, params)
    return result === null
      ? { jsonrpc: '2.0', id, error: { code: METHOD_NOT_FOUND, message: `there is no ${method} here` } }
      : { jsonrpc: '2.0', id, result }
  }
}
