/** The sessions of a run, on the real tables through the real SDK: what design says must hold, one behaviour a test. */
import { describe, expect, it } from 'vitest'
import { fingerprint } from '../../lib/loop/run-id.ts'
import { RunSessions } from '../../lib/loop/sessions.ts'
import type { Role } from '../../lib/names.ts'
import { cleanReview, FakeAgent, usageOf } from '../support/fake-agent.ts'
import { sessionRun } from '../support/session-run.ts'

const run = sessionRun()

describe('one session a role and run', () => {
  it('the reviewer has one session over four turns, and each finds the transcript of those before', async () => {
    const modes: string[] = []
    for (let turn = 1; turn <= 4; turn++) modes.push((await run.driver.take('reviewer', { agents: [run.agent] })).mode)
    expect(modes).toEqual(['started', 'resumed', 'resumed', 'resumed'])
    expect(run.agent.calls.slice(1).map((call) => call.session)).toEqual(
      Array.from({ length: 3 }, () => ({ mode: 'resume', id: 'fake-session-1' })),
    )
    expect(run.agent.calls.map((call) => call.history.length)).toEqual([0, 1, 2, 3])
    expect((await run.itemOf('reviewer'))?.fingerprints).toEqual([fingerprint('fake-session-1')])
    expect(new Set((await run.tables.runs.turns(run.runId())).map((turn) => turn.fingerprint))).toEqual(
      new Set([fingerprint('fake-session-1')]),
    )
  })

  it('interleaved roles never share an id, a transcript or an item', async () => {
    for (const role of ['reviewer', 'fixer', 'reviewer', 'fixer', 'reviewer'] as const) await run.driver.take(role, { agents: [run.agent] })
    const ids = (role: Role) =>
      new Set(run.agent.calls.flatMap((call) => (call.role === role && call.session.mode === 'resume' ? [call.session.id] : [])))
    expect(ids('reviewer')).toEqual(new Set(['fake-session-1']))
    expect(ids('fixer')).toEqual(new Set(['fake-session-2']))
    expect((await run.sessionOf('reviewer'))?.transcript).toMatch(/^transcripts\/reviewer\//)
    expect((await run.sessionOf('fixer'))?.transcript).toMatch(/^transcripts\/fixer\//)
    for (const call of run.agent.calls)
      expect(call.history).toEqual(
        run.agent.calls.filter((c) => c.role === call.role && c.turn < call.turn).map((c) => ({ turn: c.turn, asked: 'task' })),
      )
  })

  it('the table holds ids and the least to resume, never a prompt or a transcript', async () => {
    run.agent.script.push((turn) => {
      turn.transcript.append('a very private prompt')
      return { kind: 'done', output: cleanReview, usage: usageOf(), sessionId: 's' }
    })
    await run.driver.take('reviewer', { agents: [run.agent] })
    expect(JSON.stringify(await run.itemOf('reviewer'))).not.toContain('private')
    expect(Object.keys((await run.sessionOf('reviewer')) ?? {}).sort()).toEqual([
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
    await run.driver.take('reviewer', { agents: [run.agent] })
    const second = new FakeAgent()
    const process = run.newDriver(run.runId(), run.tables.another())
    process.state = run.driver.state
    expect((await process.take('reviewer', { agents: [second] })).mode).toBe('resumed')
    expect(second.calls[0]).toMatchObject({ session: { mode: 'resume', id: 'fake-session-1' }, history: [{ turn: 1 }] })
    const other = run.newDriver(`r-${'f'.repeat(16)}`)
    expect((await other.take('reviewer', { agents: [second] })).mode).toBe('started')
    expect(second.calls[1]).toMatchObject({ session: { mode: 'start', id: null }, history: [] })
  })

  it('an agent that takes ids of ours is given one, and that one is resumed', async () => {
    run.agent.capabilities = { ...run.agent.capabilities, ownIds: true }
    await run.driver.take('reviewer', { agents: [run.agent] })
    await run.driver.take('reviewer', { agents: [run.agent] })
    const [first, second] = run.agent.calls.map((call) => call.session)
    expect(first).toMatchObject({ mode: 'start', id: expect.stringMatching(/^[0-9a-f-]{36}$/) })
    expect(second).toEqual({ mode: 'resume', id: first?.mode === 'start' ? first.id : '' })
  })

  it('an agent that gives no id back runs cold, and says so', async () => {
    run.agent.script.push({ kind: 'done', output: cleanReview, usage: usageOf(), sessionId: null })
    expect(await run.driver.take('reviewer', { agents: [run.agent] })).toMatchObject({
      mode: 'cold',
      why: expect.stringContaining('no session id'),
      fingerprint: null,
    })
    expect(await run.sessionOf('reviewer')).toBeNull()
  })
})

it('a turn of another role or run gets no session', async () => {
  await run.driver.take('reviewer', { agents: [run.agent] })
  const claimed = run.driver.claimed
  if (!claimed) throw new Error('nothing was claimed')
  const policy = { session_reuse: true, sessions: { reviewer: 'run', fixer: 'run', max_idle: 60, max_tokens: 1000 } } as const
  await expect(new RunSessions(run.driver.ports, { runId: run.runId(), policy }).getOrCreate('fixer', claimed, run.agent)).rejects.toThrow(
    /asked for the fixer's/,
  )
  await expect(new RunSessions(run.driver.ports, { runId: 'r-other', policy }).getOrCreate('reviewer', claimed, run.agent)).rejects.toThrow(
    /of r-other/,
  )
})
