/** Our side of the protocol during a turn: files, permissions, and what the agent tells. */
import { isAbsolute, relative, sep } from 'node:path'
import { client, type ClientApp, methods, RequestError, type SessionUpdate } from '@agentclientprotocol/sdk'
import type { AgentTurn } from '../../loop/agent.ts'
import { LoopError } from '../../loop/errors.ts'
import { EDIT_TOOLS } from '../tools/edit-tools.ts'
import { runTool } from '../tools/tool.ts'
import { type AskedCall, isAllowed, permissionAnswer } from './permission.ts'
import type { Place } from './place.ts'

export interface ClientEvents {
  onUpdate: (sessionId: string, update: SessionUpdate) => void
  /** A port broke: the turn cannot go on. */
  onBroken: (error: unknown) => void
}

export const CLIENT_CAPABILITIES = { fs: { readTextFile: true, writeTextFile: true }, terminal: false }

/** Path of a file from the root of the repository; null for one that does not lie below where the agent was started. */
const pathInside = (place: Place, path: string): string | null => {
  const inside = relative(place.work, path)
  if (!isAbsolute(path) || inside === '' || inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside)) return null
  return inside.split(sep).join('/')
}

export const clientOf = (turn: AgentTurn, place: Place, { onUpdate, onBroken }: ClientEvents): ClientApp => {
  const calls = new Map<string, AskedCall>()

  const learn = (id: string, said: { kind?: string | null; title?: string | null; locations?: { path: string }[] | null }): AskedCall => {
    const before = calls.get(id) ?? { kind: null, titles: [], paths: [] }
    const named = typeof said.title === 'string' ? [said.title] : []
    const call = {
      kind: said.kind ?? before.kind,
      titles: [...before.titles, ...named].slice(0, 10),
      paths: [...new Set([...before.paths, ...(said.locations ?? []).map(({ path }) => path)])],
    }
    calls.set(id, call)
    return call
  }

  const insideOr = (path: string): string => {
    const inside = pathInside(place, path)
    if (inside === null) throw RequestError.invalidParams(undefined, 'the path leads out of the workspace')
    return inside
  }

  return client({ name: 'reviewloop' })
    .onNotification(methods.client.session.update, ({ params: { sessionId, update } }) => {
      if (update.sessionUpdate === 'tool_call' || update.sessionUpdate === 'tool_call_update') learn(update.toolCallId, update)
      onUpdate(sessionId, update)
    })
    .onRequest(methods.client.session.requestPermission, ({ params: { toolCall, options } }) => {
      const call = learn(toolCall.toolCallId, toolCall)
      return permissionAnswer(
        isAllowed(turn.role, call, (path) => pathInside(place, path) !== null),
        options,
      )
    })
    .onRequest(methods.client.fs.readTextFile, async ({ params: { path, line, limit } }) => {
      const bytes = await portOf(onBroken, () => turn.files.read(insideOr(path)))
      if (!bytes) throw RequestError.resourceNotFound(path)
      const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)
      const from = Math.max(0, (line ?? 1) - 1)
      return {
        content: text
          .split('\n')
          .slice(from, from + (limit ?? Infinity))
          .join('\n'),
      }
    })
    .onRequest(methods.client.fs.writeTextFile, async ({ params: { path, content } }) => {
      const file = insideOr(path)
      const { ok, text } = await portOf(onBroken, () => runTool(EDIT_TOOLS, { id: '', name: 'write_file', input: { file, content } }, turn))
      if (!ok) throw RequestError.invalidParams(undefined, text)
      return {}
    })
}

/** What a port refuses is the agent's to know; what breaks in it ends the turn. */
const portOf = async <T>(onBroken: (error: unknown) => void, act: () => Promise<T>): Promise<T> => {
  try {
    return await act()
  } catch (error) {
    if (error instanceof RequestError) throw error
    const isRefusal = error instanceof LoopError && ['OutsideWorkspace', 'EditRefused', 'ChangeTooLarge'].includes(error.name)
    if (!isRefusal) onBroken(error)
    throw RequestError.invalidParams(undefined, error instanceof LoopError && isRefusal ? error.message : 'the file cannot be used')
  }
}
