/** One client for any agent that speaks the Agent Client Protocol. Which one, how it is started and what of it travels: the deployment says. */
import type { Agent, AgentResult, AgentTurn, Capabilities } from '../../loop/agent.ts'
import { LoopError } from '../../loop/errors.ts'
import { openSession } from '../session-transcript.ts'
import { startAgent } from './agent-process.ts'
import { clientOf } from './client.ts'
import { Course } from './course.ts'
import { acpEntry } from './entries.ts'
import { failureOfPrompt, saidBy } from './failure.ts'
import { type Abilities, initialize, probe } from './handshake.ts'
import { openPlace, type Place, type PlaceOptions } from './place.ts'
import { messagesOf } from './prompts.ts'
import { openAcpSession } from './session.ts'
import type { AcpSettings } from './settings.ts'
import { AcpSpent } from './spent.ts'
import { packState, unpackState } from './state.ts'
import { Stops } from './stops.ts'
import { Hearing, type Outcome, talk } from './talk.ts'
import { serveTools } from './tool-server.ts'

export interface AcpOptions {
  /** Gives the key of the agent's provider, where the settings have a variable for it. */
  key?: PlaceOptions['key']
  /** ms since 1970 */
  now?: () => number
}

interface Served {
  agent: Pick<Agent, 'id' | 'version'>
  abilities: Abilities
  settings: AcpSettings
  key: PlaceOptions['key']
  now: () => number
}

/** They depend on the agent, which tells it when it is started. */
export const acpCapabilities = (canResume: boolean): Capabilities => ({
  resume: canResume,
  checkpoint: canResume,
  ownIds: false,
  structuredOutput: false,
  edits: true,
})

const noKey = (): never => {
  throw new Error('it is given no key')
}

/**
 * Starts the agent once, to ask what it is and can. Throws an Error where it cannot be started or speaks another version of the
 * protocol.
 */
export const createAcpAgent = async (settings: AcpSettings, { key = noKey, now = () => Date.now() }: AcpOptions = {}): Promise<Agent> => {
  const abilities = await probe(settings, key)
  const agent = { id: 'acp', version: abilities.version }
  const { resume } = abilities
  return {
    ...agent,
    capabilities: acpCapabilities(resume !== null),
    ...(abilities.whyCold === null ? {} : { whyCold: abilities.whyCold }),
    run: (turn) => serve(turn, { agent, abilities, settings, key, now }),
  }
}

const serve = async (turn: AgentTurn, served: Served): Promise<AgentResult> => {
  const { task } = turn.prompt
  if ((task.kind === 'fix') !== (turn.role === 'fixer'))
    throw new LoopError('Unexpected', `A ${turn.role} was given a task of kind ${task.kind}.`)
  const opened = open(turn, served)
  const course = new Course('lost' in opened ? [] : opened.entries)
  const spent = new AcpSpent(course.size)
  const failed = (error: 'AgentCancelled' | 'AgentFailed', reason: string): AgentResult => ({
    kind: 'failed',
    error,
    reason,
    usage: spent.usage,
  })
  if (turn.signal.aborted) return failed('AgentCancelled', 'the turn was interrupted')
  if ('lost' in opened) return { kind: 'session_lost', reason: opened.lost, usage: spent.usage }
  const { tokens, calls } = turn.budget
  if (tokens <= 0 || calls <= 0) return { kind: 'limit', limit: tokens <= 0 ? 'tokens' : 'turn_calls', usage: spent.usage, sessionId: null }
  try {
    await using place = await openPlace(course.place, served)
    const damage = await unpackState(place.home, served.settings, course.files)
    if (damage !== null) return { kind: 'session_lost', reason: damage, usage: spent.usage }
    return await serveAt(turn, served, { place, course, spent, id: opened.id })
  } catch (error) {
    return turn.signal.aborted ? failed('AgentCancelled', 'the turn was interrupted') : failed('AgentFailed', saidBy(error))
  }
}

/** The session to go on in, with the id that it is known by; null where one begins. A repair goes on in that of the attempt before it. */
const open = (turn: AgentTurn, { agent, abilities }: Served): { id: string | null; entries: Course['entries'] } | { lost: string } => {
  const [head] = turn.transcript.history()
  const isGoneOn = turn.prompt.kind === 'repair' && turn.session.mode === 'none' && abilities.resume !== null
  const id = isGoneOn && typeof head === 'object' && head !== null && 'id' in head ? String(head.id) : null
  if (turn.session.mode !== 'resume' && id === null) return { id: null, entries: [] }
  const opened = openSession(id === null ? turn : { ...turn, session: { mode: 'resume', id } }, agent, acpEntry)
  if ('lost' in opened) return opened
  return new Course(opened.entries).hasBegun ? opened : { lost: 'the transcript holds no turn' }
}

interface Here {
  place: Place
  course: Course
  spent: AcpSpent
  /** Of the session to resume. */
  id: string | null
}

const serveAt = async (turn: AgentTurn, served: Served, { place, course, spent, id }: Here): Promise<AgentResult> => {
  const { settings, abilities, now } = served
  using stops = new Stops(turn, spent, now)
  const hearing = new Hearing()
  let isOpen = false
  const broken = (error: unknown): void => stops.add({ kind: 'broken', error })
  await using tools = await serveTools(turn, place.socket, {
    onReport: (output) => {
      hearing.reported = { output }
      hearing.progressed = true
      stops.look()
    },
    onBroken: broken,
  })
  const app = clientOf(turn, place, {
    // What a session says while it is loaded was said before.
    onUpdate: (sessionId, update) => {
      if (!isOpen) return
      hearing.hear(sessionId, update, spent)
      stops.look()
    },
    onBroken: broken,
  })
  await using process = startAgent(app, settings.command, place)
  const started = await Promise.race([
    initialize(process.agent, settings)
      .then(() => openAcpSession(process.agent, { place, tools, id, resume: abilities.resume }))
      .catch(async (error: unknown) => failureOfPrompt(await process.causeOf(error), false)),
    process.ended,
    stops.first,
  ])
  if (started.kind !== 'open') return { ...notStarted(started), usage: spent.usage }
  const { sessionId } = started
  isOpen = true
  if (id === null) course.add({ type: 'place', place: place.name })
  const messages = messagesOf(turn, course, { contextTokens: settings.contextTokens, isResumed: id !== null })
  if (messages) course.add(messages)
  const outcome = await talk({
    turn,
    course,
    sessionId,
    hearing,
    spent,
    stops,
    process,
    isResumed: id !== null,
    canGoOn: abilities.resume !== null,
  })
  if (outcome.kind === 'done' || outcome.kind === 'checkpoint') {
    await process.stop(stops.margin / 3)
    await keep(turn, served, { place, course, spent, id: sessionId })
  }
  return resultOf(turn, outcome, spent, servedId(sessionId, hearing))
}

type NotStarted = Exclude<Awaited<ReturnType<typeof openAcpSession>>, { kind: 'open' }> | Awaited<Stops['first']>

const notStarted = (why: NotStarted) => {
  if (why.kind === 'time') return { kind: 'failed' as const, error: 'AgentTimedOut' as const, reason: 'it did not start in time' }
  if (why.kind === 'cancelled') return { kind: 'failed' as const, error: 'AgentCancelled' as const, reason: 'the turn was interrupted' }
  if (why.kind === 'broken') return { kind: 'failed' as const, error: 'AgentFailed' as const, reason: saidBy(why.error) }
  return why.kind === 'limit' ? { ...why, sessionId: null } : why
}

/** The id under which it was heard, where that is another than was asked for. */
const servedId = (asked: string, { ids }: Hearing): string => (ids.size === 0 || ids.has(asked) ? asked : ([...ids][0] ?? asked))

/** What the next turn resumes. Where the agent's state is too large to travel, the transcript says so. */
const keep = async (turn: AgentTurn, { agent, settings }: Served, { place, course, spent, id }: Here & { id: string }): Promise<void> => {
  const files = await packState(place.home, settings)
  course.add({ type: 'size', ...spent.size })
  openSession({ ...turn, session: { mode: 'start', id } }, agent, acpEntry)
  if (files) for (const entry of course.kept(files)) turn.transcript.append(entry)
}

const resultOf = ({ session }: AgentTurn, outcome: Outcome, spent: AcpSpent, id: string): AgentResult => {
  const { usage, size } = spent
  const context = size.context === null ? {} : { context: size.context }
  const sessionId = session.mode === 'none' ? null : id
  if (outcome.kind === 'done') return { ...outcome, usage, sessionId, ...context }
  if (outcome.kind === 'checkpoint') return { ...outcome, usage, sessionId: id, ...context }
  return outcome.kind === 'limit' ? { ...outcome, usage, sessionId } : { ...outcome, usage }
}
