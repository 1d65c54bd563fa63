/** The agent's session of a turn: a new one, or the one that was, by the way that the agent has for it. */
import { type ClientContext, methods, type NewSessionRequest } from '@agentclientprotocol/sdk'
import { type Failure, failureOfOpening } from './failure.ts'
import type { Abilities } from './handshake.ts'
import type { Place } from './place.ts'
import type { ToolServer } from './tool-server.ts'

interface Wanted {
  place: Pick<Place, 'work'>
  tools: Pick<ToolServer, 'command'>
  /** null for a new one. */
  id: string | null
  resume: Abilities['resume']
}

export const openAcpSession = async (
  agent: ClientContext,
  { place, tools, id, resume }: Wanted,
): Promise<{ kind: 'open'; sessionId: string } | Failure> => {
  const setting: NewSessionRequest = { cwd: place.work, mcpServers: [tools.command] }
  try {
    if (id === null) return { kind: 'open', sessionId: (await agent.request(methods.agent.session.new, setting)).sessionId }
    const method = resume === 'resume' ? methods.agent.session.resume : methods.agent.session.load
    const answer: unknown = await agent.request(method, { ...setting, sessionId: id })
    return { kind: 'open', sessionId: id, ...otherId(answer) }
  } catch (error) {
    return failureOfOpening(error, id !== null)
  }
}

/** Agents that open another session than was asked for say so, if at all, with a field that the protocol does not have. */
const otherId = (answer: unknown): { sessionId?: string } =>
  typeof answer === 'object' && answer !== null && 'sessionId' in answer && typeof answer.sessionId === 'string'
    ? { sessionId: answer.sessionId }
    : {}
