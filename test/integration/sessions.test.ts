/** The sessions of a run, on the real tables through the real SDK: what design says must hold, one behaviour a test. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { AgentResult, AgentTurn } from '../../lib/loop/agent.ts'
import { emptyRecord, type RunRecord, type TurnRecord } from '../../lib/loop/record.ts'
import { fingerprint } from '../../lib/loop/run-id.ts'
import { type Role, turnObjectKey } from '../../lib/names.ts'
import { FakeEffects } from '../support/clock.ts'
import { startTables, type Tables } from '../support/dynalite.ts'
import { cleanReview, emptyFix, FakeAgent, usageOf } from '../support/fake-agent.ts'
import { memoryArtifacts } from '../support/memory-store.ts'
import { invocationOf, stateOf, turnRecordOf } from '../support/ports.ts'
import { Driver } from '../support/turns.ts'

let tables: Tables
beforeAll(async () => {
  tables = await startTables()
})
afterAll(() => tables.close())

let runs = 0
let effects: FakeEffects
let agent: FakeAgent
let driver: Driver
let artifacts: ReturnType<typeof memoryArtifacts>

const newDriver = (runId: string, stores: Pick<Tables, 'sessions' | 'runs'> = tables): Driver =>
  new Driver({ sessions: stores.sessions, runs: stores.runs, artifacts, effects }, stateOf({ runId }))

beforeEach(() => {
  effects = new FakeEffects()
  agent = new FakeAgent()
  artifacts = memoryArtifacts()
  driver = newDriver(`r-${String(++runs).padStart(16, '0')}`)
})

const runId = (): string => driver.state.runId
const itemOf = (role: Role | 'certifier') => tables.sessions.read({ runId: runId(), role })
const sessionOf = async (role: Role) => (await itemOf(role))?.session ?? null
const lost = (): AgentResult => ({ kind: 'session_lost', reason: 'no conversation found', usage: usageOf(1, 0) })
const failed = (error: Extract<AgentResult, { kind: 'failed' }>['error']): AgentResult => ({
  kind: 'failed',
  error,
  reason: error,
  usage: usageOf(3, 0),
})
const usedModes = (): string[] => agent.calls.map((call) => call.session.mode)
/** A record of a run in which something has happened. */
const recordSoFar = (): RunRecord => ({ ...emptyRecord(), turns: [turnRecordOf()] })
/** Makes the stored item say something else, as only time or another process could. */
const alter = async (role: Role, change: (item: NonNullable<Awaited<ReturnType<typeof itemOf>>>) => object): Promise<void> => {
  const item = await itemOf(role)
  if (!item) throw new Error('no item')
  expect(
    await tables.sessions.write({ runId: runId(), role }, { ...item, ...change(item), rev: item.rev + 1, nonce: effects.nonce() }),
  ).toBe(true)
}

describe('one session a role and run', () => {
  it('the reviewer has one session over four turns, and each finds the transcript of those before', async () => {
    const modes: string[] = []
    for (let turn = 1; turn <= 4; turn++) modes.push((await driver.take('reviewer', { agents: [agent] })).mode)
    expect(modes).toEqual(['started', 'resumed', 'resumed', 'resumed'])
    expect(agent.calls.slice(1).map((call) => call.session)).toEqual(Array(3).fill({ mode: 'resume', id: 'fake-session-1' }))
    expect(agent.calls.map((call) => call.history.length)).toEqual([0, 1, 2, 3])
    expect((await itemOf('reviewer'))?.fingerprints).toEqual([fingerprint('fake-session-1')])
    expect(new Set((await tables.runs.turns(runId())).map((turn) => turn.fingerprint))).toEqual(new Set([fingerprint('fake-session-1')]))
  })

  it('interleaved roles never share an id, a transcript or an item', async () => {
    for (const role of ['reviewer', 'fixer', 'reviewer', 'fixer', 'reviewer'] as const) await driver.take(role, { agents: [agent] })
    const ids = (role: Role) =>
      new Set(agent.calls.flatMap((call) => (call.role === role && call.session.mode === 'resume' ? [call.session.id] : [])))
    expect(ids('reviewer')).toEqual(new Set(['fake-session-1']))
    expect(ids('fixer')).toEqual(new Set(['fake-session-2']))
    expect((await sessionOf('reviewer'))?.transcript).toMatch(/^transcripts\/reviewer\//)
    expect((await sessionOf('fixer'))?.transcript).toMatch(/^transcripts\/fixer\//)
    for (const call of agent.calls)
      expect(call.history).toEqual(
        agent.calls.filter((c) => c.role === call.role && c.turn < call.turn).map((c) => ({ turn: c.turn, asked: 'task' })),
      )
  })

  it('the table holds ids and the least to resume, never a prompt or a transcript', async () => {
    agent.script.push((turn) => {
      turn.transcript.append('a very private prompt')
      return { kind: 'done', output: cleanReview, usage: usageOf(), sessionId: 's' }
    })
    await driver.take('reviewer', { agents: [agent] })
    expect(JSON.stringify(await itemOf('reviewer'))).not.toContain('private')
    expect(Object.keys((await sessionOf('reviewer')) ?? {}).sort()).toEqual([
      'agent',
      'agentVersion',
      'checksum',
      'cycle',
      'expiresAt',
      'id',
      'role',
      'startedAt',
      'tokens',
      'transcript',
      'usedAt',
    ])
  })

  it('a second process resumes what the first stored; another run does not', async () => {
    await driver.take('reviewer', { agents: [agent] })
    const second = new FakeAgent()
    const process = newDriver(runId(), tables.another())
    process.state = driver.state
    expect((await process.take('reviewer', { agents: [second] })).mode).toBe('resumed')
    expect(second.calls[0]).toMatchObject({ session: { mode: 'resume', id: 'fake-session-1' }, history: [{ turn: 1 }] })
    const other = newDriver(`r-${'f'.repeat(16)}`)
    expect((await other.take('reviewer', { agents: [second] })).mode).toBe('started')
    expect(second.calls[1]).toMatchObject({ session: { mode: 'start', id: null }, history: [] })
  })

  it('an agent that takes ids of ours is given one, and that one is resumed', async () => {
    agent.capabilities = { ...agent.capabilities, ownIds: true }
    await driver.take('reviewer', { agents: [agent] })
    await driver.take('reviewer', { agents: [agent] })
    const [first, second] = agent.calls.map((call) => call.session)
    expect(first).toMatchObject({ mode: 'start', id: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    expect(second).toEqual({ mode: 'resume', id: first?.mode === 'start' ? first.id : '' })
  })

  it('an agent that gives no id back runs cold, and says so', async () => {
    agent.script.push({ kind: 'done', output: cleanReview, usage: usageOf(), sessionId: null })
    expect(await driver.take('reviewer', { agents: [agent] })).toMatchObject({
      mode: 'cold',
      why: expect.stringContaining('no session id'),
      fingerprint: null,
    })
    expect(await sessionOf('reviewer')).toBeNull()
  })
})

describe('a dead session never costs the turn', () => {
  it('a failed resume runs the same turn in a fresh session of the same role with the hand-over, marked; the next turn resumes the replacement', async () => {
    await driver.take('reviewer', { agents: [agent] })
    agent.script.push(lost())
    const record = await driver.take('reviewer', { agents: [agent], record: recordSoFar() })
    expect(record).toMatchObject({
      mode: 'fallback',
      why: 'no conversation found',
      fingerprint: fingerprint('fake-session-2'),
      usage: { calls: 2, input: 11 },
    })
    expect(usedModes()).toEqual(['start', 'resume', 'start'])
    expect(agent.calls[1]?.prompt.task.handOver).toBeNull()
    expect(agent.calls[2]).toMatchObject({
      role: 'reviewer',
      turn: 2,
      history: [],
      prompt: { kind: 'task', task: { handOver: { round: 0, outstanding: [] } } },
    })
    expect(driver.workspace.restored).toBe(1)
    expect((await driver.take('reviewer', { agents: [agent] })).mode).toBe('resumed')
    expect(agent.calls[3]?.session).toEqual({ mode: 'resume', id: 'fake-session-2' })
    expect((await itemOf('reviewer'))?.fingerprints).toEqual([fingerprint('fake-session-1'), fingerprint('fake-session-2')])
  })

  it.each([
    ['is missing', () => artifacts.objects.clear()],
    ['was altered', () => artifacts.objects.forEach((_bytes, key) => artifacts.objects.set(key, new TextEncoder().encode('"other"\n')))],
    ['is too large', () => artifacts.objects.forEach((_bytes, key) => artifacts.objects.set(key, new Uint8Array(20_000_001)))],
  ])('a transcript that %s is a dead session', async (why, harm) => {
    await driver.take('fixer', { agents: [agent] })
    harm()
    expect(await driver.take('fixer', { agents: [agent] })).toMatchObject({ mode: 'fallback', why: `its transcript ${why}` })
    expect(usedModes()).toEqual(['start', 'start'])
    expect(await driver.take('fixer', { agents: [agent] })).toMatchObject({ mode: 'resumed' })
  })

  it('an agent that merely fails in a resumed session gets a fresh one as well', async () => {
    await driver.take('reviewer', { agents: [agent] })
    agent.script.push(failed('AgentFailed'))
    expect(await driver.take('reviewer', { agents: [agent] })).toMatchObject({ mode: 'fallback', why: 'fake: AgentFailed' })
  })

  it("a fresh session's failure is the turn's, after one call", async () => {
    agent.script.push(failed('AgentFailed'))
    await expect(driver.take('reviewer', { agents: [agent] })).rejects.toMatchObject({ name: 'AgentFailed' })
    expect(agent.calls).toHaveLength(1)
    await expect(driver.take('reviewer', { agents: [agent] })).rejects.toMatchObject({ name: 'AgentFailed', details: { recorded: true } })
    expect(agent.calls).toHaveLength(1)
  })

  it('so is the failure of the fresh session that a dead one was replaced by', async () => {
    await driver.take('reviewer', { agents: [agent] })
    agent.script.push(lost(), lost())
    await expect(driver.take('reviewer', { agents: [agent] })).rejects.toMatchObject({ name: 'AgentFailed' })
    expect(agent.calls).toHaveLength(3)
  })

  it.each(['AgentCancelled', 'AgentTimedOut'] as const)('%s is no fallback', async (error) => {
    await driver.take('reviewer', { agents: [agent] })
    agent.script.push(failed(error))
    await expect(driver.take('reviewer', { agents: [agent] })).rejects.toMatchObject({ name: error, details: { usage: { calls: 1 } } })
    expect(agent.calls).toHaveLength(2)
    expect(driver.workspace.restored).toBe(0)
  })

  it('an agent that fails because it was called off was called off', async () => {
    await driver.take('reviewer', { agents: [agent] })
    const controller = new AbortController()
    agent.script.push(() => {
      controller.abort()
      return failed('AgentFailed')
    })
    const { signal } = controller
    await expect(driver.take('reviewer', { agents: [agent], invocation: { signal } })).rejects.toMatchObject({ name: 'AgentCancelled' })
    expect(agent.calls).toHaveLength(2)
    expect((await driver.take('reviewer', { agents: [agent] })).mode).toBe('resumed')
  })

  it('a dead session that is noticed when no time is left is not tried again', async () => {
    await driver.take('reviewer', { agents: [agent] })
    const { deadline } = invocationOf({ effects })
    agent.script.push(() => {
      effects.time = deadline
      return lost()
    })
    await expect(driver.take('reviewer', { agents: [agent] })).rejects.toMatchObject({ name: 'AgentTimedOut' })
    expect(agent.calls).toHaveLength(2)
  })

  it.each(['AgentThrottled', 'AgentOverloaded'] as const)('%s keeps the session and gives the lease back', async (error) => {
    await driver.take('reviewer', { agents: [agent] })
    const before = await sessionOf('reviewer')
    agent.script.push(failed(error))
    await expect(driver.take('reviewer', { agents: [agent] })).rejects.toMatchObject({ name: error })
    expect(await itemOf('reviewer')).toMatchObject({ session: before, running: { turn: 2, leaseUntil: 0 } })
    const record = await driver.take('reviewer', { agents: [agent] })
    expect(record).toMatchObject({ mode: 'resumed', fence: 3, usage: { calls: 2, input: 13 } })
    expect(agent.calls[2]?.session).toEqual({ mode: 'resume', id: 'fake-session-1' })
  })

  it('a resume that answers under another id is a fallback, and its answer is thrown away', async () => {
    await driver.take('reviewer', { agents: [agent] })
    agent.script.push((turn) => {
      turn.transcript.append('of no worth')
      return { kind: 'done', output: { ...cleanReview, summary: 'of no worth' }, usage: usageOf(), sessionId: 'another' }
    })
    const record = await driver.take('reviewer', { agents: [agent] })
    expect(record).toMatchObject({ mode: 'fallback', why: 'it answered under another session', fingerprint: fingerprint('fake-session-2') })
    expect(driver.served).toMatchObject({ kind: 'done', output: { summary: 'nothing found' }, usage: { calls: 2 } })
    expect(agent.calls[2]).toMatchObject({ session: { mode: 'start' }, history: [] })
    expect((await sessionOf('reviewer'))?.id).toBe('fake-session-2')
  })

  it('a resume that answers under no id is one too', async () => {
    await driver.take('reviewer', { agents: [agent] })
    agent.script.push({ kind: 'done', output: cleanReview, usage: usageOf(), sessionId: null })
    expect((await driver.take('reviewer', { agents: [agent] })).mode).toBe('fallback')
  })

  it('a crash after a turn has appended to its transcript leaves the finished one untouched', async () => {
    await driver.take('fixer', { agents: [agent] })
    const before = new Map(artifacts.objects)
    // A dead process answers nothing and writes nothing: its lease stays until it is over.
    const died = new Promise<void>((resolve) => {
      agent.script.push((turn) => {
        turn.transcript.append('of a turn that never ended')
        resolve()
        return new Promise<AgentResult>(() => undefined)
      })
    })
    void driver.take('fixer', { agents: [agent] })
    await died
    expect(artifacts.objects).toEqual(before)
    await expect(driver.take('fixer', { agents: [agent] })).rejects.toMatchObject({ name: 'TurnBusy' })
    effects.advance(16 * 60_000)
    expect(await driver.take('fixer', { agents: [agent] })).toMatchObject({ mode: 'resumed', fence: 3 })
    expect(agent.calls.at(-1)?.history).toEqual([{ turn: 1, asked: 'task' }])
    expect([...artifacts.objects.keys()]).toEqual(
      [
        [1, 1],
        [2, 3],
      ].map(([turn, fence]) => turnObjectKey('transcripts', 'fixer', runId(), turn ?? 0, fence ?? 0)),
    )
    expect(artifacts.objects).toEqual(new Map([...artifacts.objects, ...before]))
  })
})

describe('which session is attached', () => {
  it('an agent that cannot resume runs cold with no id', async () => {
    agent.capabilities = { ...agent.capabilities, resume: false }
    for (let turn = 1; turn <= 2; turn++)
      expect(await driver.take('reviewer', { agents: [agent] })).toMatchObject({
        mode: 'cold',
        why: 'fake cannot resume a session',
        fingerprint: null,
      })
    expect(usedModes()).toEqual(['none', 'none'])
    expect(await itemOf('reviewer')).toMatchObject({ session: null, fingerprints: [] })
    expect(artifacts.objects.size).toBe(0)
  })

  it('session_reuse: false mints nothing, loads nothing and stores nothing', async () => {
    await driver.take('fixer', { agents: [agent] })
    artifacts.objects.clear()
    for (const role of ['fixer', 'reviewer'] as const)
      expect(await driver.take(role, { agents: [agent], settings: { session_reuse: false }, record: recordSoFar() })).toMatchObject({
        mode: 'cold',
        why: 'session_reuse is off',
        fingerprint: null,
      })
    expect(usedModes()).toEqual(['start', 'none', 'none'])
    expect(agent.calls[1]?.prompt.task.handOver).not.toBeNull()
    expect(await sessionOf('fixer')).toBeNull()
    expect(artifacts.objects.size).toBe(0)
  })

  it('no manager (Certify) means no session: cold, no id, nothing kept, no word from those who had one', async () => {
    await driver.take('reviewer', { agents: [agent] })
    artifacts.objects.clear()
    for (let turn = 2; turn <= 3; turn++)
      expect(await driver.take('certifier', { agents: [agent], record: recordSoFar() })).toMatchObject({ mode: 'cold', fingerprint: null })
    expect(agent.calls.slice(1)).toMatchObject(
      Array(2).fill({ session: { mode: 'none' }, history: [], prompt: { task: { kind: 'certify', handOver: null } } }),
    )
    expect(await itemOf('certifier')).toMatchObject({ session: null, fingerprints: [], done: { turn: 3 } })
    expect(artifacts.objects.size).toBe(0)
  })

  it('the id of another agent is ignored, and so is one that another version made', async () => {
    await driver.take('reviewer', { agents: [agent] })
    const other = new FakeAgent('other')
    expect(await driver.take('reviewer', { agents: [other] })).toMatchObject({ mode: 'started', why: 'the stored session is one of fake' })
    expect(other.calls[0]?.session).toEqual({ mode: 'start', id: null })
    other.version = '2'
    expect(await driver.take('reviewer', { agents: [other] })).toMatchObject({
      mode: 'started',
      why: 'the stored session was made by other 1',
    })
  })

  it('with an ordered fallback the id is bound to the agent that served', async () => {
    const second = new FakeAgent('second')
    agent.script.push(failed('AgentFailed'))
    const record = await driver.take('fixer', { agents: [agent, second] })
    expect(record).toMatchObject({
      agent: 'second',
      mode: 'started',
      why: 'fake: AgentFailed; first turn of the role',
      usage: { calls: 2, input: 13 },
    })
    expect(await sessionOf('fixer')).toMatchObject({ agent: 'second', id: 'second-session-1' })
    expect(driver.workspace.restored).toBe(1)
    // The first serves again, and the second's id is nothing to it.
    expect(await driver.take('fixer', { agents: [agent, second] })).toMatchObject({
      agent: 'fake',
      mode: 'started',
      why: 'the stored session is one of second',
    })
    expect(usedModes()).toEqual(['start', 'start'])
  })

  it('a refusal goes to the next agent; when none is left it is thrown', async () => {
    const refused: AgentResult = { kind: 'refused', reason: 'not this', usage: usageOf() }
    const second = new FakeAgent('second', refused)
    agent.script.push(refused)
    await expect(driver.take('reviewer', { agents: [agent, second] })).rejects.toMatchObject({
      name: 'AgentRefused',
      message: 'second refused: not this',
    })
    expect(agent.calls).toHaveLength(1)
  })

  it('fixer: cycle starts anew each cycle and is reused inside it', async () => {
    const settings = { sessions: { fixer: 'cycle' } }
    const records: TurnRecord[] = []
    for (const round of [1, 1, 2, 2]) {
      driver.state = { ...driver.state, round }
      records.push(await driver.take('fixer', { agents: [agent], settings }))
    }
    expect(records.map((record) => record.mode)).toEqual(['started', 'resumed', 'started', 'resumed'])
    expect(records[2]?.why).toBe('a new cycle began')
    expect(agent.calls.flatMap((call) => (call.session.mode === 'resume' ? [call.session.id] : []))).toEqual([
      'fake-session-1',
      'fake-session-2',
    ])
  })

  it('fixer: run, the default, is reused over cycles', async () => {
    for (const round of [1, 2]) {
      driver.state = { ...driver.state, round }
      await driver.take('fixer', { agents: [agent] })
    }
    expect(usedModes()).toEqual(['start', 'resume'])
  })

  it('reviewer: turn starts anew each turn and keeps no transcript', async () => {
    for (let turn = 1; turn <= 2; turn++)
      expect(await driver.take('reviewer', { agents: [agent], settings: { sessions: { reviewer: 'turn' } } })).toMatchObject({
        mode: 'started',
      })
    expect(usedModes()).toEqual(['start', 'start'])
    expect(artifacts.objects.size).toBe(0)
  })

  it.each<[string, object, () => void, string]>([
    ['idle', { max_idle: 5 }, () => effects.advance(5 * 60_000 + 1), 'idle for more than 5 minutes'],
    ['grown', { max_tokens: 1000 }, () => undefined, 'grown to more than 1000 tokens'],
  ])('a session that has %s past its bound is not resumed; the record says so', async (_name, sessions, before, why) => {
    agent.script.push({ kind: 'done', output: cleanReview, usage: usageOf(1001), sessionId: 's' })
    await driver.take('reviewer', { agents: [agent], settings: { sessions } })
    before()
    expect(await driver.take('reviewer', { agents: [agent], settings: { sessions }, record: recordSoFar() })).toMatchObject({
      mode: 'started',
      why,
    })
    expect(agent.calls[1]?.prompt.task.handOver).not.toBeNull()
  })

  it('an expired item voids the session and not the fence', async () => {
    await driver.take('reviewer', { agents: [agent] })
    await alter('reviewer', () => ({ ttl: Math.floor(effects.now() / 1000) }))
    expect(await driver.take('reviewer', { agents: [agent] })).toMatchObject({
      mode: 'started',
      why: 'no session is stored any more',
      fence: 2,
    })
    expect((await itemOf('reviewer'))?.fingerprints).toHaveLength(2)
  })

  it('a session that has expired is not attached, though its item has not', async () => {
    await driver.take('reviewer', { agents: [agent] })
    effects.advance(7 * 24 * 60 * 60_000)
    expect(await driver.take('reviewer', { agents: [agent], settings: { sessions: { max_idle: 10_080 } } })).toMatchObject({
      mode: 'started',
      why: 'the stored session has expired',
      fence: 2,
    })
  })
})

describe('a turn that stops at a checkpoint', () => {
  const stop = (turn: AgentTurn): AgentResult => {
    turn.transcript.append('half done')
    const id = turn.session.mode === 'resume' ? turn.session.id : 'fake-session-9'
    return { kind: 'checkpoint', usage: usageOf(), sessionId: id }
  }
  const work = { commit: 'a'.repeat(40), changes: [{ kind: 'delete' as const, path: 'a.js' }] }

  it('is gone on with in the same session, with no new prompt', async () => {
    agent.script.push(stop)
    expect(await driver.take('fixer', { agents: [agent] })).toMatchObject({ ended: 'checkpoint', mode: 'started' })
    expect(await itemOf('fixer')).toMatchObject({ session: null, checkpoint: { turn: 1, id: 'fake-session-9' } })
    expect(await driver.take('fixer', { agents: [agent], work })).toMatchObject({
      mode: 'continued',
      why: 'the turn before stopped at a checkpoint',
    })
    expect(agent.calls[1]).toMatchObject({
      session: { mode: 'resume', id: 'fake-session-9' },
      prompt: { kind: 'continue' },
      history: ['half done'],
    })
    expect(driver.workspace.restored).toBe(0)
    expect(await itemOf('fixer')).toMatchObject({ session: { id: 'fake-session-9' }, checkpoint: null })
  })

  it('leaves the finished session where it was', async () => {
    await driver.take('fixer', { agents: [agent] })
    const before = await sessionOf('fixer')
    agent.script.push(stop)
    await driver.take('fixer', { agents: [agent] })
    expect(await sessionOf('fixer')).toEqual(before)
  })

  it('with a checkpoint that is lost: a fallback, in a workspace without the work', async () => {
    agent.script.push(stop)
    await driver.take('fixer', { agents: [agent] })
    artifacts.objects.clear()
    agent.script.push((turn) => ({
      kind: 'done',
      output: { ...emptyFix, summary: String(turn.session.mode) },
      usage: usageOf(),
      sessionId: 's2',
    }))
    expect(await driver.take('fixer', { agents: [agent], work })).toMatchObject({ mode: 'fallback', why: 'its transcript is missing' })
    expect(agent.calls[1]).toMatchObject({ session: { mode: 'start' }, prompt: { kind: 'task' } })
    expect(await driver.workspace.changed()).toEqual([])
  })

  it('whose session turns out to be dead: the same', async () => {
    agent.script.push(stop, lost())
    await driver.take('fixer', { agents: [agent] })
    expect(await driver.take('fixer', { agents: [agent], work })).toMatchObject({ mode: 'fallback', why: 'no conversation found' })
    expect(await driver.workspace.changed()).toEqual([])
  })

  it('whose work is missing: the same, without asking the session', async () => {
    agent.script.push(stop)
    await driver.take('fixer', { agents: [agent] })
    expect(await driver.take('fixer', { agents: [agent], lost: 'the work of the checkpoint is missing' })).toMatchObject({
      mode: 'fallback',
      why: 'the work of the checkpoint is missing',
    })
    expect(usedModes()).toEqual(['start', 'start'])
  })

  it('is gone on with by the agent that began it, first in the order or not', async () => {
    const second = new FakeAgent('second')
    agent.script.push(stop)
    await driver.take('fixer', { agents: [agent, second] })
    expect(await driver.take('fixer', { agents: [second, agent] })).toMatchObject({ agent: 'fake', mode: 'continued' })
    expect(second.calls).toHaveLength(0)
  })

  it('is of no use to another agent', async () => {
    agent.script.push(stop)
    await driver.take('fixer', { agents: [agent] })
    const other = new FakeAgent('other')
    expect(await driver.take('fixer', { agents: [other], work })).toMatchObject({
      mode: 'fallback',
      why: 'the checkpoint was made by fake 1',
    })
    expect(await driver.workspace.changed()).toEqual([])
  })

  it('lives for the very next turn alone', async () => {
    agent.script.push(stop)
    await driver.take('fixer', { agents: [agent] })
    const { last } = driver.state
    await driver.take('reviewer', { agents: [agent] })
    driver.state = { ...driver.state, last }
    expect(await driver.take('fixer', { agents: [agent] })).toMatchObject({ mode: 'fallback', why: 'the checkpoint is lost' })
  })

  it('of the certifier lives and dies with its turn', async () => {
    agent.script.push((turn) => (turn.transcript.append('half'), { kind: 'checkpoint', usage: usageOf(), sessionId: 'c' }))
    await driver.take('certifier', { agents: [agent] })
    expect(await driver.take('certifier', { agents: [agent] })).toMatchObject({ mode: 'continued', fingerprint: null })
    expect(await itemOf('certifier')).toMatchObject({ session: null, checkpoint: null, fingerprints: [] })
    expect(await driver.take('certifier', { agents: [agent] })).toMatchObject({ mode: 'cold' })
    expect(usedModes()).toEqual(['none', 'resume', 'none'])
  })
})

describe('what an agent answers', () => {
  const malformed = (turn: AgentTurn): AgentResult => {
    const sessionId = turn.session.mode === 'resume' ? turn.session.id : turn.session.mode === 'start' ? 's' : null
    return { kind: 'done', output: { findings: 'none' }, usage: usageOf(), sessionId }
  }

  it('malformed output is never "no findings": one request to repair it, in the same session and turn', async () => {
    agent.script.push(malformed)
    const record = await driver.take('reviewer', { agents: [agent] })
    expect(record).toMatchObject({ mode: 'started', usage: { calls: 2, input: 20 } })
    expect(agent.calls[1]).toMatchObject({
      session: { mode: 'resume', id: 's' },
      prompt: { kind: 'repair', problem: expect.stringContaining('findings') },
    })
    expect(driver.served).toMatchObject({ kind: 'done', output: cleanReview })
  })

  it('malformed again: AgentOutputInvalid, for good', async () => {
    agent.script.push(malformed, malformed)
    await expect(driver.take('reviewer', { agents: [agent, new FakeAgent('second')] })).rejects.toMatchObject({
      name: 'AgentOutputInvalid',
      details: { usage: { calls: 2 } },
    })
    expect((await itemOf('reviewer'))?.failed).toMatchObject({ turn: 1, error: 'AgentOutputInvalid' })
  })

  it('is repaired without a session where there is none', async () => {
    agent.script.push(malformed)
    await driver.take('certifier', { agents: [agent] })
    expect(agent.calls[1]).toMatchObject({ session: { mode: 'none' }, prompt: { kind: 'repair' } })
  })

  it('a repair under another id is a dead session: the turn is run once more, fresh', async () => {
    await driver.take('reviewer', { agents: [agent] })
    agent.script.push(malformed, { kind: 'done', output: cleanReview, usage: usageOf(), sessionId: 'another' })
    expect(await driver.take('reviewer', { agents: [agent] })).toMatchObject({ mode: 'fallback', usage: { calls: 3 } })
  })

  it('each further call of a turn has what is left of its budget', async () => {
    agent.script.push(malformed)
    await driver.take('reviewer', { agents: [agent], budget: { tokens: 100, dollars: 1 } })
    expect(agent.calls.map((call) => call.budget)).toEqual([
      { tokens: 100, dollars: 1 },
      { tokens: 85, dollars: 1 },
    ])
  })

  it('a limit ends the turn and keeps the session of the turn before', async () => {
    await driver.take('reviewer', { agents: [agent] })
    const before = await sessionOf('reviewer')
    agent.script.push({ kind: 'limit', limit: 'tokens', usage: usageOf(), sessionId: null })
    expect(await driver.take('reviewer', { agents: [agent] })).toMatchObject({ ended: 'limit', limit: 'tokens', mode: 'resumed' })
    expect(await sessionOf('reviewer')).toEqual(before)
  })

  it('an agent that throws has failed, and its call counts', async () => {
    agent.script.push(() => {
      throw new Error('boom')
    })
    await expect(driver.take('reviewer', { agents: [agent] })).rejects.toMatchObject({
      name: 'AgentFailed',
      message: 'fake: boom',
      details: { usage: { calls: 1, input: null } },
    })
  })
})

it('a turn of another role or run gets no session', async () => {
  await driver.take('reviewer', { agents: [agent] })
  const claimed = driver.claimed
  if (!claimed) throw new Error('nothing was claimed')
  const { RunSessions } = await import('../../lib/loop/sessions.ts')
  const policy = { session_reuse: true, sessions: { reviewer: 'run', fixer: 'run', max_idle: 60, max_tokens: 1000 } } as const
  await expect(new RunSessions(driver.ports, { runId: runId(), policy }).getOrCreate('fixer', claimed, agent)).rejects.toThrow(
    /asked for the fixer's/,
  )
  await expect(new RunSessions(driver.ports, { runId: 'r-other', policy }).getOrCreate('reviewer', claimed, agent)).rejects.toThrow(
    /of r-other/,
  )
})
