/** Turns that stop at a checkpoint, and answers that have to be repaired: on the real tables. */
import { describe, expect, it } from 'vitest'
import type { AgentResult, AgentTurn } from '../../lib/loop/agent.ts'
import { cleanReview, emptyFix, FakeAgent, usageOf } from '../support/fake-agent.ts'
import { lost, sessionRun } from '../support/session-run.ts'

const run = sessionRun()

describe('a turn that stops at a checkpoint', () => {
  const stop = (turn: AgentTurn): AgentResult => {
    turn.transcript.append('half done')
    const id = turn.session.mode === 'resume' ? turn.session.id : 'fake-session-9'
    return { kind: 'checkpoint', usage: usageOf(), sessionId: id }
  }
  const work = { commit: 'a'.repeat(40), changes: [{ kind: 'delete' as const, path: 'a.js' }] }

  it('is gone on with in the same session, with no new prompt', async () => {
    run.agent.script.push(stop)
    expect(await run.driver.take('fixer', { agents: [run.agent] })).toMatchObject({ ended: 'checkpoint', mode: 'started' })
    expect(await run.itemOf('fixer')).toMatchObject({ session: { id: 'fake-session-9' }, checkpoint: { turn: 1, id: 'fake-session-9' } })
    expect(await run.driver.take('fixer', { agents: [run.agent], work })).toMatchObject({
      mode: 'continued',
      why: 'the turn before stopped at a checkpoint',
    })
    expect(run.agent.calls[1]).toMatchObject({
      session: { mode: 'resume', id: 'fake-session-9' },
      prompt: { kind: 'continue' },
      history: ['half done'],
    })
    expect(run.driver.workspace.restored).toBe(0)
    expect(await run.itemOf('fixer')).toMatchObject({ session: { id: 'fake-session-9' }, checkpoint: null })
  })

  it('is a finish: session, transcript and checkpoint move together in its one write', async () => {
    run.agent.script.push(stop)
    await run.driver.take('fixer', { agents: [run.agent] })
    const { session, checkpoint } = (await run.itemOf('fixer')) ?? {}
    expect(session).toMatchObject({ id: checkpoint?.id, transcript: checkpoint?.transcript, checksum: checkpoint?.checksum })
  })

  it('with a checkpoint that is lost: a fallback, in a workspace without the work', async () => {
    run.agent.script.push(stop)
    await run.driver.take('fixer', { agents: [run.agent] })
    run.artifacts.objects.clear()
    run.agent.script.push((turn) => ({
      kind: 'done',
      output: { ...emptyFix, summary: turn.session.mode },
      usage: usageOf(),
      sessionId: 's2',
    }))
    expect(await run.driver.take('fixer', { agents: [run.agent], work })).toMatchObject({
      mode: 'fallback',
      why: 'its transcript is missing',
    })
    expect(run.agent.calls[1]).toMatchObject({ session: { mode: 'start' }, prompt: { kind: 'task' } })
    expect(await run.driver.workspace.changed()).toEqual([])
  })

  it('whose session turns out to be dead: the same', async () => {
    run.agent.script.push(stop, lost())
    await run.driver.take('fixer', { agents: [run.agent] })
    expect(await run.driver.take('fixer', { agents: [run.agent], work })).toMatchObject({ mode: 'fallback', why: 'no conversation found' })
    expect(await run.driver.workspace.changed()).toEqual([])
  })

  it('whose work is missing: the same, without asking the session', async () => {
    run.agent.script.push(stop)
    await run.driver.take('fixer', { agents: [run.agent] })
    expect(await run.driver.take('fixer', { agents: [run.agent], lost: 'the work of the checkpoint is missing' })).toMatchObject({
      mode: 'fallback',
      why: 'the work of the checkpoint is missing',
    })
    expect(run.usedModes()).toEqual(['start', 'start'])
  })

  it('is gone on with by the agent that began it, first in the order or not', async () => {
    const second = new FakeAgent('second')
    run.agent.script.push(stop)
    await run.driver.take('fixer', { agents: [run.agent, second] })
    expect(await run.driver.take('fixer', { agents: [second, run.agent] })).toMatchObject({ agent: 'fake', mode: 'continued' })
    expect(second.calls).toHaveLength(0)
  })

  it('is of no use to another agent', async () => {
    run.agent.script.push(stop)
    await run.driver.take('fixer', { agents: [run.agent] })
    const other = new FakeAgent('other')
    expect(await run.driver.take('fixer', { agents: [other], work })).toMatchObject({
      mode: 'fallback',
      why: 'the checkpoint was made by fake 1',
    })
    expect(await run.driver.workspace.changed()).toEqual([])
  })

  it('lives for the very next turn alone', async () => {
    run.agent.script.push(stop)
    await run.driver.take('fixer', { agents: [run.agent] })
    const { last } = run.driver.state
    await run.driver.take('reviewer', { agents: [run.agent] })
    run.driver.state = { ...run.driver.state, last }
    expect(await run.driver.take('fixer', { agents: [run.agent] })).toMatchObject({ mode: 'fallback', why: 'the checkpoint is lost' })
  })

  it('by an agent that cannot resume over turns leaves no id', async () => {
    run.agent.capabilities = { ...run.agent.capabilities, resume: false }
    run.agent.script.push(stop)
    await run.driver.take('fixer', { agents: [run.agent] })
    expect(await run.driver.take('fixer', { agents: [run.agent] })).toMatchObject({ mode: 'continued', fingerprint: null })
    expect(await run.itemOf('fixer')).toMatchObject({ session: null, fingerprints: [] })
    expect(await run.driver.take('fixer', { agents: [run.agent] })).toMatchObject({ mode: 'cold' })
  })

  it('of the certifier lives and dies with its turn', async () => {
    run.agent.script.push((turn) => (turn.transcript.append('half'), { kind: 'checkpoint', usage: usageOf(), sessionId: 'c' }))
    await run.driver.take('certifier', { agents: [run.agent] })
    expect(await run.driver.take('certifier', { agents: [run.agent] })).toMatchObject({ mode: 'continued', fingerprint: null })
    expect(await run.itemOf('certifier')).toMatchObject({ session: null, checkpoint: null, fingerprints: [] })
    expect(await run.driver.take('certifier', { agents: [run.agent] })).toMatchObject({ mode: 'cold' })
    expect(run.usedModes()).toEqual(['none', 'resume', 'none'])
  })
})

describe('what an agent answers', () => {
  const malformed = (turn: AgentTurn): AgentResult => {
    const sessionId = turn.session.mode === 'resume' ? turn.session.id : turn.session.mode === 'start' ? 's' : null
    return { kind: 'done', output: { findings: 'none' }, usage: usageOf(), sessionId }
  }

  it('malformed output is never "no findings": one request to repair it, in the same session and turn', async () => {
    run.agent.script.push(malformed)
    const record = await run.driver.take('reviewer', { agents: [run.agent] })
    expect(record).toMatchObject({ mode: 'started', usage: { calls: 2, input: 20 } })
    expect(run.agent.calls[1]).toMatchObject({
      session: { mode: 'resume', id: 's' },
      prompt: { kind: 'repair', problem: expect.stringContaining('findings') },
    })
    expect(run.driver.served).toMatchObject({ kind: 'done', output: cleanReview })
  })

  it('malformed again: AgentOutputInvalid, for good', async () => {
    run.agent.script.push(malformed, malformed)
    await expect(run.driver.take('reviewer', { agents: [run.agent, new FakeAgent('second')] })).rejects.toMatchObject({
      name: 'AgentOutputInvalid',
      details: { usage: { calls: 2 } },
    })
    expect((await run.itemOf('reviewer'))?.failed).toMatchObject({ turn: 1, error: 'AgentOutputInvalid' })
  })

  it('is repaired without a session where there is none', async () => {
    run.agent.script.push(malformed)
    await run.driver.take('certifier', { agents: [run.agent] })
    expect(run.agent.calls[1]).toMatchObject({ session: { mode: 'none' }, prompt: { kind: 'repair' } })
  })

  it('a repair under another id is a dead session: the turn is run once more, fresh', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    run.agent.script.push(malformed, { kind: 'done', output: cleanReview, usage: usageOf(), sessionId: 'another' })
    expect(await run.driver.take('reviewer', { agents: [run.agent] })).toMatchObject({ mode: 'fallback', usage: { calls: 3 } })
  })

  it('each further call of a turn has what is left of its budget', async () => {
    run.agent.script.push(malformed)
    await run.driver.take('reviewer', { agents: [run.agent], budget: { tokens: 100, dollars: 1, calls: 9 } })
    expect(run.agent.calls.map((call) => call.budget)).toEqual([
      { tokens: 100, dollars: 1, calls: 9 },
      { tokens: 85, dollars: 1, calls: 8 },
    ])
  })

  it('a limit ends the turn and keeps the session of the turn before', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    const before = await run.sessionOf('reviewer')
    run.agent.script.push({ kind: 'limit', limit: 'tokens', usage: usageOf(), sessionId: null })
    expect(await run.driver.take('reviewer', { agents: [run.agent] })).toMatchObject({ ended: 'limit', limit: 'tokens', mode: 'resumed' })
    expect(await run.sessionOf('reviewer')).toEqual(before)
  })

  it('an agent that throws has failed, and its call counts', async () => {
    run.agent.script.push(() => {
      throw new Error('boom')
    })
    await expect(run.driver.take('reviewer', { agents: [run.agent] })).rejects.toMatchObject({
      name: 'AgentFailed',
      message: 'fake: boom',
      details: { usage: { calls: 1, input: null } },
    })
  })
})
