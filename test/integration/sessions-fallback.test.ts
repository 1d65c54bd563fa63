/** A dead session never costs the turn: on the real tables. */
import { describe, expect, it } from 'vitest'
import type { AgentResult } from '../../lib/loop/agent.ts'
import { fingerprint } from '../../lib/loop/run-id.ts'
import { turnObjectKey } from '../../lib/names.ts'
import { cleanReview, FakeAgent, usageOf } from '../support/fake-agent.ts'
import { invocationOf } from '../support/ports.ts'
import { failed, lost, recordSoFar, sessionRun } from '../support/session-run.ts'

const run = sessionRun()

describe('a dead session never costs the turn', () => {
  it('a failed resume runs the same turn in a fresh session of the same role with the hand-over, marked; the next turn resumes the replacement', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    run.agent.script.push(lost())
    const record = await run.driver.take('reviewer', { agents: [run.agent], record: recordSoFar() })
    expect(record).toMatchObject({
      mode: 'fallback',
      why: 'no conversation found',
      fingerprint: fingerprint('fake-session-2'),
      usage: { calls: 2, input: 11 },
    })
    expect(run.usedModes()).toEqual(['start', 'resume', 'start'])
    expect(run.agent.calls[1]?.prompt.task.handOver).toBeNull()
    expect(run.agent.calls[2]).toMatchObject({
      role: 'reviewer',
      turn: 2,
      history: [],
      prompt: { kind: 'task', task: { handOver: { round: 0, outstanding: [] } } },
    })
    expect(run.driver.workspace.restored).toBe(1)
    expect((await run.driver.take('reviewer', { agents: [run.agent] })).mode).toBe('resumed')
    expect(run.agent.calls[3]?.session).toEqual({ mode: 'resume', id: 'fake-session-2' })
    expect((await run.itemOf('reviewer'))?.fingerprints).toEqual([fingerprint('fake-session-1'), fingerprint('fake-session-2')])
  })

  it.each([
    ['is missing', () => run.artifacts.objects.clear()],
    [
      'was altered',
      () => run.artifacts.objects.forEach((_bytes, key) => run.artifacts.objects.set(key, new TextEncoder().encode('"other"\n'))),
    ],
    ['is too large', () => run.artifacts.objects.forEach((_bytes, key) => run.artifacts.objects.set(key, new Uint8Array(20_000_001)))],
  ])('case 22: a transcript that %s is a dead session', async (why, harm) => {
    await run.driver.take('fixer', { agents: [run.agent] })
    harm()
    expect(await run.driver.take('fixer', { agents: [run.agent] })).toMatchObject({ mode: 'fallback', why: `its transcript ${why}` })
    expect(run.usedModes()).toEqual(['start', 'start'])
    expect(await run.driver.take('fixer', { agents: [run.agent] })).toMatchObject({ mode: 'resumed' })
  })

  it('an agent that merely fails in a resumed session gets a fresh one as well', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    run.agent.script.push(failed('AgentFailed'))
    expect(await run.driver.take('reviewer', { agents: [run.agent] })).toMatchObject({ mode: 'fallback', why: 'fake: AgentFailed' })
  })

  it('a session that an agent names when it complains is told by its fingerprint: the id is for its own item', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    run.agent.script.push({ kind: 'session_lost', reason: 'No conversation found with session ID fake-session-1', usage: usageOf(1, 0) })
    expect(await run.driver.take('reviewer', { agents: [run.agent] })).toMatchObject({
      mode: 'fallback',
      why: `No conversation found with session ID ${fingerprint('fake-session-1')}`,
    })
    run.agent.script.push({ kind: 'failed', error: 'AgentThrottled', reason: 'not now, fake-session-2', usage: usageOf(1, 0) })
    await expect(run.driver.take('reviewer', { agents: [run.agent] })).rejects.toMatchObject({
      name: 'AgentThrottled',
      message: `fake: not now, ${fingerprint('fake-session-2')}`,
    })
  })

  it("a fresh session's failure is the turn's, after one call", async () => {
    run.agent.script.push(failed('AgentFailed'))
    await expect(run.driver.take('reviewer', { agents: [run.agent] })).rejects.toMatchObject({ name: 'AgentFailed' })
    expect(run.agent.calls).toHaveLength(1)
    await expect(run.driver.take('reviewer', { agents: [run.agent] })).rejects.toMatchObject({
      name: 'AgentFailed',
      details: { recorded: true },
    })
    expect(run.agent.calls).toHaveLength(1)
  })

  it('so is the failure of the fresh session that a dead one was replaced by', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    run.agent.script.push(lost(), lost())
    await expect(run.driver.take('reviewer', { agents: [run.agent] })).rejects.toMatchObject({ name: 'AgentFailed' })
    expect(run.agent.calls).toHaveLength(3)
  })

  it.each(['AgentCancelled', 'AgentTimedOut'] as const)('%s is no fallback', async (error) => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    run.agent.script.push(failed(error))
    await expect(run.driver.take('reviewer', { agents: [run.agent] })).rejects.toMatchObject({
      name: error,
      details: { usage: { calls: 1 } },
    })
    expect(run.agent.calls).toHaveLength(2)
    expect(run.driver.workspace.restored).toBe(0)
  })

  it('an agent that fails because it was called off was called off', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    const controller = new AbortController()
    run.agent.script.push(() => {
      controller.abort()
      return failed('AgentFailed')
    })
    const { signal } = controller
    await expect(run.driver.take('reviewer', { agents: [run.agent], invocation: { signal } })).rejects.toMatchObject({
      name: 'AgentCancelled',
    })
    expect(run.agent.calls).toHaveLength(2)
    expect((await run.driver.take('reviewer', { agents: [run.agent] })).mode).toBe('resumed')
  })

  it('so was one whose session had only just begun', async () => {
    const controller = new AbortController()
    run.agent.script.push(() => {
      controller.abort()
      return failed('AgentFailed')
    })
    const { signal } = controller
    const taken = run.driver.take('reviewer', { agents: [run.agent], invocation: { signal } })
    await expect(taken).rejects.toMatchObject({ name: 'AgentCancelled' })
    expect(await run.itemOf('reviewer')).toMatchObject({ running: { leaseUntil: 0 }, failed: null })
  })

  it.each(['AgentThrottled', 'AgentOverloaded', 'AgentTimedOut', 'AgentCancelled'] as const)(
    '%s is no reason to ask another agent',
    async (error) => {
      const second = new FakeAgent('second')
      run.agent.script.push(failed(error))
      await expect(run.driver.take('reviewer', { agents: [run.agent, second] })).rejects.toMatchObject({ name: error })
      expect(second.calls).toHaveLength(0)
    },
  )

  it('the dead id goes, also where the fresh session only got to a limit', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    run.agent.script.push(lost(), { kind: 'limit', limit: 'tokens', usage: usageOf(), sessionId: null })
    expect(await run.driver.take('reviewer', { agents: [run.agent] })).toMatchObject({ mode: 'fallback', ended: 'limit' })
    expect(await run.sessionOf('reviewer')).toBeNull()
  })

  it('a dead session that is noticed when no time is left is not tried again', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    const { deadline } = invocationOf(run)
    run.agent.script.push(() => {
      run.effects.time = deadline
      return lost()
    })
    await expect(run.driver.take('reviewer', { agents: [run.agent] })).rejects.toMatchObject({ name: 'AgentTimedOut' })
    expect(run.agent.calls).toHaveLength(2)
  })

  it.each(['AgentThrottled', 'AgentOverloaded'] as const)('%s keeps the session and gives the lease back', async (error) => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    const before = await run.sessionOf('reviewer')
    run.agent.script.push(failed(error))
    await expect(run.driver.take('reviewer', { agents: [run.agent] })).rejects.toMatchObject({ name: error })
    expect(await run.itemOf('reviewer')).toMatchObject({ session: before, running: { turn: 2, leaseUntil: 0 } })
    const record = await run.driver.take('reviewer', { agents: [run.agent] })
    expect(record).toMatchObject({ mode: 'resumed', fence: 3, usage: { calls: 2, input: 13 } })
    expect(run.agent.calls[2]?.session).toEqual({ mode: 'resume', id: 'fake-session-1' })
  })

  it('case 23: a resume that answers under another id is a fallback, and its answer is thrown away', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    run.agent.script.push((turn) => {
      turn.transcript.append('of no worth')
      return { kind: 'done', output: { ...cleanReview, summary: 'of no worth' }, usage: usageOf(), sessionId: 'another' }
    })
    const record = await run.driver.take('reviewer', { agents: [run.agent] })
    expect(record).toMatchObject({ mode: 'fallback', why: 'it answered under another session', fingerprint: fingerprint('fake-session-2') })
    expect(run.driver.served).toMatchObject({ kind: 'done', output: { summary: 'nothing found' }, usage: { calls: 2 } })
    expect(run.agent.calls[2]).toMatchObject({ session: { mode: 'start' }, history: [] })
    expect((await run.sessionOf('reviewer'))?.id).toBe('fake-session-2')
  })

  it('case 23: a resume that answers under no id is one too', async () => {
    await run.driver.take('reviewer', { agents: [run.agent] })
    run.agent.script.push({ kind: 'done', output: cleanReview, usage: usageOf(), sessionId: null })
    expect((await run.driver.take('reviewer', { agents: [run.agent] })).mode).toBe('fallback')
  })

  it('a crash after a turn has appended to its transcript leaves the finished one untouched', async () => {
    await run.driver.take('fixer', { agents: [run.agent] })
    const before = new Map(run.artifacts.objects)
    // A dead process answers nothing and writes nothing: its lease stays until it is over.
    const died = new Promise<void>((resolve) => {
      run.agent.script.push((turn) => {
        turn.transcript.append('of a turn that never ended')
        resolve()
        return new Promise<AgentResult>(() => undefined)
      })
    })
    void run.driver.take('fixer', { agents: [run.agent] })
    await died
    expect(run.artifacts.objects).toEqual(before)
    await expect(run.driver.take('fixer', { agents: [run.agent] })).rejects.toMatchObject({ name: 'TurnBusy' })
    run.effects.advance(16 * 60_000)
    expect(await run.driver.take('fixer', { agents: [run.agent] })).toMatchObject({ mode: 'resumed', fence: 3 })
    expect(run.agent.calls.at(-1)?.history).toEqual([{ turn: 1, asked: 'task' }])
    expect([...run.artifacts.objects.keys()]).toEqual(
      [
        [1, 1],
        [2, 3],
      ].map(([turn, fence]) => turnObjectKey('transcripts', 'fixer', run.runId(), turn ?? 0, fence ?? 0)),
    )
    expect(run.artifacts.objects).toEqual(new Map([...run.artifacts.objects, ...before]))
  })
})
