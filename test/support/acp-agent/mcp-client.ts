/** As much of an MCP client as calls tools: JSON-RPC in lines over the stdio of a process. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

export interface McpClient extends Disposable {
  tools: string[]
  call(name: string, input: unknown): Promise<{ text: string; isError: boolean }>
}

interface Answer {
  tools?: { name: string }[]
  content?: { text?: string }[]
  isError?: boolean
}

export const startMcpClient = async ({ command, args }: { command: string; args: string[] }): Promise<McpClient> => {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  const waiting = new Map<number, { resolve: (answer: Answer) => void; reject: (error: Error) => void }>()
  createInterface(child.stdout).on('line', (line) => {
    const { id, result, error } = JSON.parse(line) as { id?: number; result?: Answer; error?: { message: string } }
    const one = waiting.get(id ?? -1)
    waiting.delete(id ?? -1)
    if (error) one?.reject(new Error(error.message))
    else one?.resolve(result ?? {})
  })
  child.on('close', () => waiting.forEach(({ reject }) => reject(new Error('the server has gone'))))
  const send = (message: object): void => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }
  let last = 0
  const request = (method: string, params: object): Promise<Answer> =>
    new Promise((resolve, reject) => {
      waiting.set(++last, { resolve, reject })
      send({ id: last, method, params })
    })
  await request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'small', version: '1' } })
  send({ method: 'notifications/initialized' })
  const { tools = [] } = await request('tools/list', {})
  return {
    tools: tools.map(({ name }) => name),
    call: async (name, input) => {
      const { content = [], isError = false } = await request('tools/call', { name, arguments: input })
      return { text: content.map(({ text = '' }) => text).join('\n'), isError }
    },
    [Symbol.dispose]: () => child.kill(),
  }
}
