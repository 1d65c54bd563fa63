/** Which session a turn is given, and which agent it is bound to: on the real tables. */
import { describe, expect, it } from 'vitest'
import type { AgentResult } from '../../lib/loop/agent.ts'
import type { TurnRecord } from '../../lib/loop/record.ts'
import { cleanReview, FakeAgent, usageOf } from '../support/fake-agent.ts'
import { failed, recordSoFar, sessionRun } from '../support/session-run.ts'

const run = sessionRun()

describe('which session is attached', () => {
  it('an agent that cannot resume runs cold with no id', async () => {
    run.agent.capabilities = { ...run.agent.capabilities, resume: false }
    for (let turn = 1; turn <= 2; turn++)
      expect(await run.driver.take('reviewer', { agents: [run.agent] })).toMatchObject({
        mode: 'cold',
        why: 'fake cannot resume a session',
        fingerprint: null,
      })
    expect(run.usedModes()).toEqual(['none', 'none'])
    expect(await run.itemOf('reviewer')).toMatchObject({ session: null, fingerprints: [] })
    expect(run.artifacts.objects.size).toBe(0)
  })

  it('session_reuse: false mints nothing, loads nothing and stores nothing', async () => {
    await run.driver.take('fixer', { agents: [run.agent] })
    run.artifacts.objects.clear()
    for (const role of ['fixer', 'reviewer'] as const)
      expect(await run.driver.take(role, { agents: [run.agent], settings: { session_reuse: false }, record: recordSoFar() })).toMatchObject(
        {
          mode: 'cold',
          why: 'session_reuse is off',
          fingerprint: null,
        },
      )
    expect(run.usedModes()).toEqual(['start', 'none', 'none'])
    expect(run.agent.calls[1]?.prompt.task.handOver).not.toBeNull()
    expect(await run.sessionOf('fixer')).toBeNull()
    expect(run.artifacts.objects.size).toBe(0)
  })

  it('no manager (Certify) means no session: cold, no id, nothing kept, no word from those who had one', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    run.artifacts.objects.clear()
    for (let turn = 2; turn <= 3; turn++)
      expect(await run.driver.take('certifier', { agents: [run.agent], record: recordSoFar() })).toMatchObject({
        mode: 'cold',
        fingerprint: null,
      })
    expect(run.agent.calls.slice(1)).toMatchObject(
      [2, 3].map((turn) => ({ turn, session: { mode: 'none' }, history: [], prompt: { task: { kind: 'certify', handOver: null } } })),
    )
    expect(await run.itemOf('certifier')).toMatchObject({ session: null, fingerprints: [], done: { turn: 3 } })
    expect(run.artifacts.objects.size).toBe(0)
  })

  it('case 22: the id of another agent is ignored, and so is one that another version made', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    const other = new FakeAgent('other')
    expect(await run.driver.take('reviewer', { agents: [other] })).toMatchObject({
      mode: 'started',
      why: 'the stored session is one of fake',
    })
    expect(other.calls[0]?.session).toEqual({ mode: 'start', id: null })
    other.version = '2'
    expect(await run.driver.take('reviewer', { agents: [other] })).toMatchObject({
      mode: 'started',
      why: 'the stored session was made by other 1',
    })
  })

  it('with an ordered fallback the id is bound to the agent that served', async () => {
    const second = new FakeAgent('second')
    run.agent.script.push(failed('AgentFailed'))
    const record = await run.driver.take('fixer', { agents: [run.agent, second] })
    expect(record).toMatchObject({
      agent: 'second',
      mode: 'started',
      why: 'fake: AgentFailed; first turn of the role',
      usage: { calls: 2, input: 13 },
    })
    expect(await run.sessionOf('fixer')).toMatchObject({ agent: 'second', id: 'second-session-1' })
    expect(run.driver.workspace.restored).toBe(1)
    // The first serves again, and the second's id is nothing to it.
    expect(await run.driver.take('fixer', { agents: [run.agent, second] })).toMatchObject({
      agent: 'fake',
      mode: 'started',
      why: 'the stored session is one of second',
    })
    expect(run.usedModes()).toEqual(['start', 'start'])
  })

  it('a refusal goes to the next agent; when none is left it is thrown', async () => {
    const refused: AgentResult = { kind: 'refused', reason: 'not this', usage: usageOf() }
    const second = new FakeAgent('second', refused)
    run.agent.script.push(refused)
    await expect(run.driver.take('reviewer', { agents: [run.agent, second] })).rejects.toMatchObject({
      name: 'AgentRefused',
      message: 'second refused: not this',
    })
    expect(run.agent.calls).toHaveLength(1)
  })

  it('fixer: cycle starts anew each cycle and is reused inside it', async () => {
    const settings = { sessions: { fixer: 'cycle' } }
    const records: TurnRecord[] = []
    for (const round of [1, 1, 2, 2]) {
      run.driver.state = { ...run.driver.state, round }
      records.push(await run.driver.take('fixer', { agents: [run.agent], settings }))
    }
    expect(records.map((record) => record.mode)).toEqual(['started', 'resumed', 'started', 'resumed'])
    expect(records[2]?.why).toBe('a new cycle began')
    expect(run.agent.calls.flatMap((call) => (call.session.mode === 'resume' ? [call.session.id] : []))).toEqual([
      'fake-session-1',
      'fake-session-2',
    ])
  })

  it('fixer: run, the default, is reused over cycles', async () => {
    for (const round of [1, 2]) {
      run.driver.state = { ...run.driver.state, round }
      await run.driver.take('fixer', { agents: [run.agent] })
    }
    expect(run.usedModes()).toEqual(['start', 'resume'])
  })

  it('reviewer: turn starts anew each turn and keeps no transcript', async () => {
    for (let turn = 1; turn <= 2; turn++)
      expect(await run.driver.take('reviewer', { agents: [run.agent], settings: { sessions: { reviewer: 'turn' } } })).toMatchObject({
        mode: 'started',
      })
    expect(run.usedModes()).toEqual(['start', 'start'])
    expect(run.artifacts.objects.size).toBe(0)
  })

  it.each<[string, object, () => void, string]>([
    ['idle', { max_idle: 5 }, () => run.effects.advance(5 * 60_000 + 1), 'idle for more than 5 minutes'],
    ['grown', { max_tokens: 1000 }, () => undefined, 'grown to more than 1000 tokens'],
  ])('a session that has %s past its bound is not resumed; the record says so', async (_name, sessions, before, why) => {
    run.agent.script.push({ kind: 'done', output: cleanReview, usage: usageOf(1001), sessionId: 's' })
    await run.driver.take('reviewer', { agents: [run.agent], settings: { sessions } })
    before()
    expect(await run.driver.take('reviewer', { agents: [run.agent], settings: { sessions }, record: recordSoFar() })).toMatchObject({
      mode: 'started',
      why,
    })
    expect(run.agent.calls[1]?.prompt.task.handOver).not.toBeNull()
  })

  it('an expired item voids the session and not the fence', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    await run.alter('reviewer', { ttl: Math.floor(run.effects.now() / 1000) })
    expect(await run.driver.take('reviewer', { agents: [run.agent] })).toMatchObject({
      mode: 'started',
      why: 'no session is stored any more',
      fence: 2,
    })
    expect((await run.itemOf('reviewer'))?.fingerprints).toHaveLength(2)
  })

  it('a session that has expired is not attached, though its item has not', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    run.effects.advance(7 * 24 * 60 * 60_000)
    expect(await run.driver.take('reviewer', { agents: [run.agent], settings: { sessions: { max_idle: 10_080 } } })).toMatchObject({
      mode: 'started',
      why: 'the stored session has expired',
      fence: 2,
    })
  })
})
