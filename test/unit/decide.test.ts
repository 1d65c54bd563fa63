import { describe, expect, it } from 'vitest'
import { decide, decideRun } from '../../lib/loop/decide.ts'
import type { Answer } from '../../lib/loop/decision.ts'
import { park } from '../../lib/loop/park.ts'
import { TURN_ROLES } from '../../lib/names.ts'
import { claim, finish } from '../../lib/loop/turn-item.ts'
import { makePorts, turnRecordOf } from '../support/ports.ts'
import { aFinding, afterReview, aRun } from '../support/runs.ts'

const HOUR = 3_600_000

/** A run that waits under `token-1` for an answer about one finding. */
const parked = async (policy = {}, findings = [aFinding()]) => {
  const ports = makePorts()
  const { run, state } = await aRun(ports)
  const reviewed = await afterReview(ports, { ...state, policy: { ...state.policy, ...policy } }, { findings })
  await park(ports, reviewed, 'token-1')
  const item = () => {
    const found = ports.runs.runItems.get(run.runId)
    if (!found) throw new Error('no run item')
    return found
  }
  return { ports, runId: run.runId, state: reviewed, item }
}

describe('Park', () => {
  it('stores the question and the token, and wakes nobody', async () => {
    const { item, ports } = await parked()
    expect(item()).toMatchObject({ status: 'parked', token: 'token-1', question: { id: 'q1', why: 'ask-user', open: 1, roundsLeft: 3 } })
    expect(ports.executions.woken).toEqual([])
  })

  it('entered again asks the same question under the new token', async () => {
    const { ports, state, item } = await parked()
    const { askedAt } = item().question ?? {}
    ports.effects.advance(HOUR)
    await park(ports, state, 'token-2')
    expect(item()).toMatchObject({ token: 'token-2', question: { id: 'q1', askedAt } })
  })

  it('reads the decision on entry: one that is there already wakes it at once', async () => {
    const { ports, state, runId } = await parked()
    await decideRun(ports, runId, { answer: { kind: 'approve' }, by: 'ada' })
    ports.executions.woken.length = 0
    await park(ports, state, 'token-2')
    expect(ports.executions.woken).toEqual(['token-2'])
  })

  it('by a worker that the run has gone on without asks nothing: a later question and its answer stand', async () => {
    const { ports, state, runId, item } = await parked()
    const later = await afterReview(ports, { ...state, turn: 4 }, { findings: [aFinding()] })
    await park(ports, later, 'token-5')
    await decideRun(ports, runId, { answer: { kind: 'approve' }, by: 'ada' })
    const before = item()
    await expect(park(ports, state, 'token-1')).rejects.toMatchObject({ name: 'StaleTurn' })
    expect(item()).toEqual(before)
  })

  it('a question whose time is over wakes it at once', async () => {
    const { ports, state } = await parked()
    ports.effects.advance(73 * HOUR)
    await park(ports, state, 'token-2')
    expect(ports.executions.woken).toEqual(['token-2'])
  })

  it('puts every TTL past its own bound', async () => {
    const { ports, state, runId } = await parked({ askSeconds: 24 * 24 * 3600 })
    const at = {
      runId,
      role: 'reviewer' as const,
      turn: 1,
      epoch: 1,
      input: state,
      leaseUntil: 0,
      now: ports.effects.now(),
      owner: null,
      nonce: 'n',
    }
    const claimed = claim(null, at)
    if (claimed.kind !== 'run') throw new Error('not claimed')
    const done = finish(claimed.item, {
      turn: 1,
      fence: 1,
      state,
      record: turnRecordOf(),
      session: null,
      checkpoint: null,
      fingerprint: null,
      now: ports.effects.now(),
      nonce: 'm',
    })
    if (done.kind !== 'write') throw new Error('not finished')
    ports.sessions.items.set(`${runId}#reviewer`, { ...done.item, ttl: Math.floor(ports.effects.now() / 1000) + 60 })
    await park(ports, state, 'token-2')
    expect(ports.sessions.items.get(`${runId}#reviewer`)?.ttl).toBeGreaterThanOrEqual(
      Math.floor(ports.effects.now() / 1000) + 24 * 24 * 3600 - 1,
    )
    expect(TURN_ROLES.length).toBe(3)
  })

  it('a stale execution asks nothing', async () => {
    const { ports, state, item } = await parked()
    await expect(park(ports, { ...state, epoch: 0 + 7 }, 'token-9')).rejects.toMatchObject({ name: 'StaleExecution' })
    expect(item().token).toBe('token-1')
  })
})

describe('recording a decision', () => {
  it('is written once, wakes the run, and the same again is answered alike', async () => {
    const { ports, runId, item } = await parked()
    const first = await decideRun(ports, runId, { answer: { kind: 'approve' }, by: 'ada' })
    const again = await decideRun(ports, runId, { answer: { kind: 'approve' }, by: 'ada' })
    expect(again.decision).toEqual(first.decision)
    expect(ports.executions.woken).toEqual(['token-1', 'token-1'])
    expect(item().decision).toMatchObject({ question: 'q1', by: 'ada', answer: { kind: 'approve' } })
  })

  it('case 26: another decision, an old question, or a run that waits no more is StaleDecision; nothing changes', async () => {
    const { ports, runId, item, state } = await parked()
    await expect(decideRun(ports, runId, { question: 'q0', answer: { kind: 'approve' }, by: 'ada' })).rejects.toMatchObject({
      name: 'StaleDecision',
    })
    await decideRun(ports, runId, { answer: { kind: 'skip' }, by: 'ada' })
    const before = structuredClone(item())
    await expect(decideRun(ports, runId, { answer: { kind: 'approve' }, by: 'ada' })).rejects.toMatchObject({ name: 'StaleDecision' })
    await expect(decideRun(ports, runId, { answer: { kind: 'skip' }, by: 'bob' })).rejects.toMatchObject({ name: 'StaleDecision' })
    expect(item()).toEqual(before)
    await decide(ports, state)
    await expect(decideRun(ports, runId, { answer: { kind: 'approve' }, by: 'ada' })).rejects.toMatchObject({ name: 'StaleDecision' })
  })

  it('of two that decide at once one is recorded', async () => {
    const { ports, runId } = await parked()
    const settled = await Promise.allSettled([
      decideRun(ports, runId, { answer: { kind: 'approve' }, by: 'ada' }),
      decideRun(ports, runId, { answer: { kind: 'skip' }, by: 'bob' }),
    ])
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  })

  it('refuses what does not fit the question; nothing changes', async () => {
    const { ports, runId, item } = await parked()
    const fix = { kind: 'fix', findings: [], decline: [], notes: {}, add: [] } as const
    const refused = (answer: object) => decideRun(ports, runId, { answer: answer as never, by: 'ada' })
    await expect(refused({ ...fix })).rejects.toMatchObject({ name: 'BadDecision' })
    await expect(refused({ ...fix, findings: ['f-ffffffffff'] })).rejects.toMatchObject({ name: 'BadDecision' })
    await expect(refused({ ...fix, findings: ['f-0000000001'], decline: ['f-0000000001'] })).rejects.toMatchObject({ name: 'BadDecision' })
    const outside = { rule: 'x', severity: 'error', file: '../x.js', text: 'outside' }
    await expect(refused({ ...fix, add: [outside] })).rejects.toMatchObject({ name: 'BadDecision' })
    await expect(refused({ kind: 'merge' })).rejects.toMatchObject({ name: 'BadDecision' })
    expect(item().decision).toBeNull()
  })

  it('refuses a note for no finding and a name that is none, before anything is read; nothing changes', async () => {
    const { ports, runId, item } = await parked()
    const fix: Answer = { kind: 'fix', findings: ['f-0000000001'], decline: [], notes: {}, add: [] }
    const before = structuredClone(item())
    const refused: [Answer, string, string][] = [
      [{ ...fix, notes: { '': 'for all' } }, 'ada', 'answer.notes'],
      [fix, '', 'by'],
      [fix, 'x'.repeat(201), 'by'],
    ]
    for (const [answer, by, named] of refused)
      await expect(decideRun(ports, runId, { answer, by })).rejects.toMatchObject({
        name: 'BadDecision',
        message: expect.stringContaining(named),
      })
    expect(item()).toEqual(before)
  })

  it('case 28: a decision that an item cannot hold is refused; nothing changes', async () => {
    const { ports, runId, item } = await parked()
    const adding = (...texts: string[]): Answer => {
      const add = texts.map((text) => ({ rule: 'x', severity: 'error' as const, file: 'a.js', text }))
      return { kind: 'fix', findings: [], decline: [], notes: {}, add }
    }
    const before = structuredClone(item())
    const hundred = adding(...Array.from({ length: 100 }, () => 'é'.repeat(8000)))
    await expect(decideRun(ports, runId, { answer: hundred, by: 'ada' })).rejects.toMatchObject({
      name: 'BadDecision',
      message: expect.stringContaining('at most 200 KB'),
    })
    expect(item()).toEqual(before)
    expect(ports.executions.woken).toEqual([])

    const most = Array.from({ length: 25 }, () => 'x'.repeat(8000))
    const left = 200 * 1024 - Buffer.byteLength(JSON.stringify(adding(...most, '')))
    const filled = (more: number) => adding(...most, 'x'.repeat(left + more))
    await expect(decideRun(ports, runId, { answer: filled(1), by: 'ada' })).rejects.toMatchObject({ name: 'BadDecision' })
    expect(await decideRun(ports, runId, { answer: filled(0), by: 'ada' })).toMatchObject({ decision: { by: 'ada' } })
  })

  it('takes all of very many findings at once', async () => {
    const findings = Array.from({ length: 5000 }, (_, at) => aFinding(`f-${at.toString(16).padStart(10, '0')}`))
    const { ports, runId } = await parked({}, findings)
    const answer: Answer = { kind: 'fix', findings: findings.map(({ id }) => id), decline: [], notes: {}, add: [] }
    expect(await decideRun(ports, runId, { answer, by: 'ada' })).toMatchObject({ decision: { by: 'ada' } })
  })

  it('refuses to fix when no round is left', async () => {
    const { ports, runId } = await parked({ rounds: 0 })
    const answer = { kind: 'fix', findings: ['f-0000000001'], decline: [], notes: {}, add: [] } as const
    await expect(
      decideRun(ports, runId, { answer: { ...answer, findings: ['f-0000000001'], decline: [], add: [] }, by: 'ada' }),
    ).rejects.toMatchObject({
      name: 'RoundsUsedUp',
    })
  })
})

describe('Decide', () => {
  it.each([
    ['approve', 'Publish', 'approved'],
    ['skip', 'Publish', 'changes-requested'],
    ['abort', 'Close', 'aborted'],
  ] as const)('%s leads to %s (%s), by name', async (kind, next, outcome) => {
    const { ports, runId, state, item } = await parked()
    await decideRun(ports, runId, { answer: { kind }, by: 'ada' })
    expect(await decide(ports, state)).toMatchObject({ next, verdict: { outcome, by: 'ada' } })
    expect(item()).toMatchObject({ status: 'running', token: null })
  })

  it('fix leads to Fix with the decision beside the state, and entered again to the same', async () => {
    const { ports, runId, state } = await parked()
    await decideRun(ports, runId, { answer: { kind: 'fix', findings: ['f-0000000001'], decline: [], notes: {}, add: [] }, by: 'ada' })
    const decided = await decide(ports, state)
    expect(decided).toMatchObject({ next: 'Fix', round: 1, decision: `decisions/${runId}/q1.json` })
    expect(await decide(ports, state)).toEqual(decided)
  })

  it('woken without a decision before the time is over, it goes back to Park', async () => {
    const { ports, state } = await parked()
    expect(await decide(ports, state)).toMatchObject({ next: 'Park', verdict: null })
  })

  it('the time-out is a decision too: it is recorded, and a late answer is stale', async () => {
    const { ports, runId, state, item } = await parked()
    ports.effects.advance(73 * HOUR)
    await expect(decideRun(ports, runId, { answer: { kind: 'approve' }, by: 'ada' })).rejects.toMatchObject({ name: 'StaleDecision' })
    expect(await decide(ports, state)).toMatchObject({ next: 'Publish', verdict: { outcome: 'changes-requested', reason: 'expired' } })
    expect(item().decision).toMatchObject({ answer: { kind: 'expired' }, by: null })
  })

  it('the time-out of the state comes a little before that of the question, and counts all the same', async () => {
    const { ports, state } = await parked()
    ports.effects.advance(72 * HOUR - 60_000)
    expect(await decide(ports, state)).toMatchObject({ next: 'Publish', verdict: { reason: 'expired' } })
  })

  it('a decision that came before the time-out woke the run is the one that counts', async () => {
    const { ports, runId, state } = await parked()
    await decideRun(ports, runId, { answer: { kind: 'approve' }, by: 'ada' })
    ports.effects.advance(73 * HOUR)
    expect(await decide(ports, state)).toMatchObject({ verdict: { outcome: 'approved', by: 'ada' } })
  })
})
