/** A turn served by one of the ordered agents: attach, run, fall back once, and say what the turn's item is to hold. */
import { turnObjectKey } from '../names.ts'
import type { Agent, Task } from './agent.ts'
import { type Attempt, attempt, Meter } from './agent-call.ts'
import { checkpointOf, isContinuation } from './continuation.ts'
import { asLoopError, LoopError } from './errors.ts'
import { handOver } from './hand-over.ts'
import type { Checkpoint } from './items.ts'
import type { Ports } from './ports.ts'
import { fingerprint } from './run-id.ts'
import type { Opening, RoleTurn, Served, Sessions } from './served.ts'
import { checksumOf, loadTranscript } from './transcript.ts'

type Context<O> = { ports: Pick<Ports, 'artifacts' | 'effects'>; sessions: Sessions; turn: RoleTurn<O>; meter: Meter; startedAt: string }

/** Errors: those that `RunSessions.run` names, with the turn's `usage` in their details. */
export const serveTurn = async <O>(
  ports: Context<O>['ports'],
  sessions: Sessions,
  agents: readonly [Agent, ...Agent[]],
  turn: RoleTurn<O>,
): Promise<Served<O>> => {
  const meter = new Meter(turn.claimed.item.running?.used)
  const context = { ports, sessions, turn, meter, startedAt: new Date(ports.effects.now()).toISOString() }
  try {
    return await serve(context, agents)
  } catch (thrown) {
    const error = asLoopError(thrown)
    throw new LoopError(error.name, error.message, { ...error.details, usage: meter.total }, { cause: error })
  }
}

const serve = async <O>(context: Context<O>, agents: readonly [Agent, ...Agent[]]): Promise<Served<O>> => {
  const { sessions, turn } = context
  const checkpoint = checkpointOf(turn.claimed)
  // In the middle of a turn, whoever began it goes on.
  const [first, ...others] = [...agents].sort((a, b) => Number(b.id === checkpoint?.agent) - Number(a.id === checkpoint?.agent))
  if (!first) throw new LoopError('AgentUnavailable')
  let { ended, opening } = await tryAgent(
    context,
    first,
    isContinuation(turn.claimed) ? await goOn(context, first, checkpoint) : await sessions.open(first),
  )
  let agent = first
  const failures: string[] = []
  for (const next of others) {
    if (ended.kind !== 'failed') break
    failures.push(ended.error.message)
    await backToStart(context)
    agent = next
    ;({ ended, opening } = await tryAgent(context, next, await sessions.open(next)))
  }
  if (ended.kind === 'failed') throw ended.error
  return settle(context, agent, { ...opening, why: [...failures, opening.why].join('; ') }, ended)
}

/** To the turn's start. What a checkpoint carried is of use only to the session that made it. */
const backToStart = ({ turn }: Context<unknown>): Promise<void> =>
  isContinuation(turn.claimed) ? turn.workspace.restoreCommit() : turn.workspace.restore()

/** The session of the checkpoint; where it is lost, a fresh one and the workspace without the work. */
const goOn = async (context: Context<unknown>, agent: Agent, checkpoint: Checkpoint | null): Promise<Opening> => {
  const { ports, sessions, turn } = context
  const objection =
    turn.lost ??
    (!checkpoint
      ? 'the checkpoint is lost'
      : checkpoint.agent !== agent.id || checkpoint.agentVersion !== agent.version
        ? `the checkpoint was made by ${checkpoint.agent} ${checkpoint.agentVersion}`
        : null)
  const loaded = checkpoint && objection === null ? await loadTranscript(ports.artifacts, checkpoint) : { lost: objection ?? '' }
  if (checkpoint && 'transcript' in loaded)
    return { use: { mode: 'resume', id: checkpoint.id }, mode: 'continued', why: 'the turn before stopped at a checkpoint', ...loaded }
  await turn.workspace.restoreCommit()
  return sessions.fresh(agent, 'lost' in loaded ? loaded.lost : 'the checkpoint is lost')
}

/** Characters: an item has to stay small, whatever an agent calls its sessions. */
const LONGEST_ID = 1000

type Ended<O> = Exclude<Attempt<O>, { kind: 'dead' }>

/** One call in the session there is and, where that turns out to be dead, one in a fresh session of the same role. */
const tryAgent = async <O>(context: Context<O>, agent: Agent, opening: Opening): Promise<{ ended: Ended<O>; opening: Opening }> => {
  const first = await ask(context, agent, opening)
  const isAttached = opening.use.mode === 'resume'
  // Agents differ in how they say that a session is dead: one that fails in a resumed session gets the benefit of the doubt.
  const death =
    first.kind === 'dead' ? first.reason : first.kind === 'failed' && first.error.name === 'AgentFailed' ? first.error.message : null
  if (isAttached && death !== null) {
    await backToStart(context)
    const fresh = context.sessions.fresh(agent, death)
    return { ended: alive(agent, await ask(context, agent, fresh)), opening: fresh }
  }
  return { ended: alive(agent, first), opening }
}

/** A session that has just begun cannot be dead: that is a failure of the agent. */
const alive = <O>(agent: Agent, ended: Attempt<O>): Ended<O> =>
  ended.kind === 'dead' ? { kind: 'failed', error: new LoopError('AgentFailed', `${agent.id}: ${ended.reason}`) } : ended

const ask = <O>({ ports, turn, meter }: Context<O>, agent: Agent, opening: Opening): Promise<Attempt<O>> => {
  const { claimed, workspace, record, schema, deadline, signal, progress, budget } = turn
  const isFresh = opening.use.mode !== 'resume' && claimed.role !== 'certifier'
  const task: Task = { ...turn.task, handOver: isFresh ? handOver(record, { role: claimed.role, round: claimed.input.round }) : null }
  return attempt({
    agent,
    session: opening.use,
    prompt: { kind: opening.mode === 'continued' ? 'continue' : 'task', task },
    schema,
    meter,
    now: () => ports.effects.now(),
    turn: {
      role: claimed.role,
      runId: claimed.item.runId,
      turn: claimed.turn,
      transcript: opening.transcript,
      root: workspace.root,
      files: workspace.files,
      edits: workspace.edits,
      deadline,
      signal,
      progress,
      budget,
    },
  })
}

/** Stores what the next turn resumes or goes on from, before the item names it, and says what the item is to hold. */
const settle = async <O>(
  context: Context<O>,
  agent: Agent,
  { use, mode, why, transcript }: Opening,
  ended: Exclude<Ended<O>, { kind: 'failed' }>,
): Promise<Served<O>> => {
  const { ports, sessions, turn, meter, startedAt } = context
  const { role, turn: number, fence, item } = turn.claimed
  const id = use.mode === 'none' && ended.kind !== 'checkpoint' ? null : ended.sessionId
  const bytes = transcript.bytes()
  const isShort = id === null || id.length <= LONGEST_ID
  const isKept = transcript.storable && isShort
  const at = { transcript: turnObjectKey('transcripts', role, item.runId, number, fence), checksum: checksumOf(bytes) }
  const made = { agent: agent.id, agentVersion: agent.version }

  let session: Served<O>['session'] = mode === 'fallback' || !sessions.known ? null : 'keep'
  let checkpoint: Checkpoint | null = null
  if (ended.kind === 'done')
    session = id === null || !isKept ? null : sessions.record({ agent, id, ...at, tokens: ended.tokens, startedAt })
  if (ended.kind === 'checkpoint' && isKept) {
    checkpoint = { turn: number, ...made, id: ended.sessionId, ...at, work: null }
    // A checkpoint is a finish: where no turn goes on from it, the role's next one resumes the session all the same.
    if (use.mode !== 'none') session = sessions.record({ agent, id: ended.sessionId, ...at, tokens: ended.tokens, startedAt })
  }
  if (checkpoint || (session !== null && session !== 'keep')) await ports.artifacts.put(at.transcript, bytes)

  const reasons = [
    why,
    ...(use.mode === 'start' && id === null ? ['it gave no session id'] : []),
    ...(transcript.storable ? [] : ['its transcript is too large to keep']),
    ...(isShort ? [] : ['its session id is too long to keep']),
  ]
  const how =
    ended.kind === 'done'
      ? { kind: ended.kind, output: ended.output }
      : ended.kind === 'limit'
        ? { kind: ended.kind, limit: ended.limit }
        : { kind: ended.kind }
  return {
    ...how,
    mode: mode === 'started' && id === null && ended.kind === 'done' ? 'cold' : mode,
    why: reasons.join('; '),
    ...made,
    fingerprint: sessions.known && agent.capabilities.resume && id !== null ? fingerprint(id) : null,
    usage: meter.total,
    session,
    checkpoint,
  }
}
