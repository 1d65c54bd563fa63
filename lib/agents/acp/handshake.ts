/** The first words with an agent: what it is, and what it can. */
import {
  client,
  type ClientContext,
  type InitializeRequest,
  type InitializeResponse,
  methods,
  PROTOCOL_VERSION,
} from '@agentclientprotocol/sdk'
import { setTimeout as wait } from 'node:timers/promises'
import { basename } from 'node:path'
import { startAgent } from './agent-process.ts'
import { CLIENT_CAPABILITIES } from './client.ts'
import { saidBy } from './failure.ts'
import { openPlace, type PlaceOptions } from './place.ts'
import { ACP_VERSION } from './prompts.ts'
import type { AcpSettings } from './settings.ts'

export interface Abilities {
  version: string
  /** How it opens a session again; null where it cannot. */
  resume: 'resume' | 'load' | null
  /** Why it cannot. */
  whyCold: string | null
}

/** Errors: what the agent answers, and an Error where it speaks another version. */
export const initialize = async (agent: ClientContext, { login }: Pick<AcpSettings, 'login'>): Promise<InitializeResponse> => {
  const request: InitializeRequest = {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: CLIENT_CAPABILITIES,
    clientInfo: { name: 'reviewloop', version: '1' },
  }
  const answer = await agent.request(methods.agent.initialize, request)
  if (answer.protocolVersion !== PROTOCOL_VERSION)
    throw new Error(`it speaks version ${answer.protocolVersion} of the protocol, and ${PROTOCOL_VERSION} is needed`)
  if (login !== null) await agent.request(methods.agent.authenticate, { methodId: login })
  return answer
}

const abilitiesOf = ({ agentInfo, agentCapabilities }: InitializeResponse, { command, state }: AcpSettings): Abilities => {
  const name = agentInfo ? `${agentInfo.name} ${agentInfo.version}` : basename(command[0])
  const can = agentCapabilities?.sessionCapabilities?.resume ? 'resume' : agentCapabilities?.loadSession ? 'load' : null
  const whyCold =
    can === null
      ? `${name} has neither session/resume nor session/load`
      : state.length === 0
        ? `no state of ${name} is named that would travel`
        : null
  return { version: `${ACP_VERSION}, ${name}`, resume: whyCold === null ? can : null, whyCold }
}

const PROBE_MS = 60_000

/** Starts the agent, asks, and ends it. Throws an Error that says why that was not to be. */
export const probe = async (settings: AcpSettings, key: PlaceOptions['key']): Promise<Abilities> => {
  await using place = await openPlace(null, { settings, key })
  await using process = startAgent(client({ name: 'reviewloop' }), settings.command, place)
  const late = new AbortController()
  try {
    const answer = await Promise.race([
      initialize(process.agent, settings),
      process.ended,
      wait(PROBE_MS, null, { signal: late.signal, ref: false }),
    ])
    if (!answer) throw new Error(`it did not answer in ${PROBE_MS / 1000} seconds`)
    return abilitiesOf(answer, settings)
  } catch (error) {
    throw new Error(`${basename(settings.command[0])}: ${saidBy(await process.causeOf(error))}`, { cause: error })
  } finally {
    late.abort()
  }
}
