import { describe, expect, it } from 'vitest'
import { close } from '../../lib/loop/close.ts'
import { decideRun } from '../../lib/loop/decide.ts'
import { abortRun, endUnder } from '../../lib/loop/end-run.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import { park } from '../../lib/loop/park.ts'
import { failureOf, recordFailure, recordLostExecution } from '../../lib/loop/record-failure.ts'
import { initialState, resumeRun, standingOf } from '../../lib/loop/resume.ts'
import type { RunState, Verdict } from '../../lib/loop/run.ts'
import { claim, finish } from '../../lib/loop/turn-item.ts'
import type { TurnRole } from '../../lib/names.ts'
import { makePorts, turnRecordOf } from '../support/ports.ts'
import { aFinding, afterReview, aRun } from '../support/runs.ts'

const CLEAN: Verdict = { outcome: 'approved', reason: 'clean', by: null, error: null }

const claimed = (role: TurnRole, state: RunState) => {
  const answer = claim(null, {
    runId: state.runId,
    role,
    turn: state.turn + 1,
    epoch: state.epoch,
    input: state,
    leaseUntil: 1e15,
    now: 0,
    owner: null,
    nonce: 'n',
  })
  if (answer.kind !== 'run') throw new Error('not claimed')
  return answer.item
}
const finished = (role: TurnRole, state: RunState, after: RunState) => {
  const answer = finish(claimed(role, state), {
    turn: state.turn + 1,
    fence: 1,
    state: after,
    record: turnRecordOf({ role }),
    session: null,
    checkpoint: null,
    fingerprint: null,
    now: 0,
    nonce: 'm',
  })
  if (answer.kind !== 'write') throw new Error('not finished')
  return answer.item
}

describe('where a run stands', () => {
  it('at the beginning when no turn was taken', async () => {
    const { run } = await aRun(makePorts())
    expect(standingOf(run, [null, null, null])).toEqual(initialState(run))
  })

  it('after the latest finished turn, whoever took it', async () => {
    const { run, state } = await aRun(makePorts())
    const reviewed = { ...state, turn: 1, next: 'Fix' } as const
    const fixed = { ...state, turn: 2, next: 'Review' } as const
    const items = [finished('reviewer', state, reviewed), finished('fixer', reviewed, fixed), null]
    expect(standingOf(run, items)).toMatchObject({ turn: 2, next: 'Review' })
  })

  it('in a turn that is in progress: it is entered again with the input it was given', async () => {
    const { run, state } = await aRun(makePorts())
    const reviewed = { ...state, turn: 1, next: 'Fix', decision: 'decisions/x' } as const
    expect(standingOf({ ...run, epoch: 5 }, [finished('reviewer', state, reviewed), claimed('fixer', reviewed), null])).toMatchObject({
      turn: 1,
      next: 'Fix',
      decision: 'decisions/x',
      epoch: 5,
    })
  })
})

describe('resume', () => {
  it('raises the epoch and starts the execution of that epoch', async () => {
    const ports = makePorts()
    const { run } = await aRun(ports)
    const resumed = await resumeRun(ports, run.runId)
    expect(resumed).toMatchObject({ started: true, run: { epoch: 2 } })
    expect(ports.executions.started.at(-1)).toMatchObject({ name: `${run.runId}-2`, input: { epoch: 2, next: 'Prepare' } })
  })

  it('of two that resume at once one wins', async () => {
    const ports = makePorts()
    const { run } = await aRun(ports)
    const both = await Promise.all([resumeRun(ports, run.runId), resumeRun(ports, run.runId)])
    expect(both.filter(({ started }) => started)).toHaveLength(1)
    expect(ports.executions.started.map(({ name }) => name)).toEqual([`${run.runId}-1`, `${run.runId}-2`])
  })

  it('leaves an ended run as it is, and says that an unknown one is none', async () => {
    const ports = makePorts()
    const { run } = await aRun(ports)
    ports.runs.runItems.set(run.runId, { ...run, status: 'ended', closed: true })
    expect(await resumeRun(ports, run.runId)).toMatchObject({ started: false })
    await expect(resumeRun(ports, 'r-0000000000000000')).rejects.toMatchObject({ name: 'RunNotFound' })
  })

  it('a run that was being ended is only closed', async () => {
    const ports = makePorts()
    const { run } = await aRun(ports)
    await abortRun(ports, run.runId, 'ada')
    await resumeRun(ports, run.runId)
    expect(ports.executions.started.at(-1)?.input).toMatchObject({ next: 'Close', verdict: { outcome: 'aborted', by: 'ada' } })
  })

  it('a run that has ended, and whose Close was cut off, is closed to the end with the verdict it has', async () => {
    const ports = makePorts()
    const { run, state } = await aRun(ports)
    const cut = { ...ports, artifacts: { ...ports.artifacts, deleteAll: () => Promise.reject(new LoopError('StoreUnavailable')) } }
    await expect(close(cut, { ...state, next: 'Close', verdict: CLEAN })).rejects.toMatchObject({ name: 'StoreUnavailable' })
    expect(ports.runs.runItems.get(run.runId)).toMatchObject({ status: 'ended', closed: false, verdict: CLEAN })
    expect(await resumeRun(ports, run.runId)).toMatchObject({ started: true })
    const { input } = ports.executions.started.at(-1) ?? {}
    expect(input).toMatchObject({ epoch: 2, next: 'Close', verdict: CLEAN })
    expect(await close(ports, input ?? state)).toMatchObject({ next: 'Done' })
    expect(ports.runs.runItems.get(run.runId)).toMatchObject({ status: 'ended', closed: true, verdict: CLEAN })
    expect([...ports.runs.branchItems.values()][0]?.active).toBeNull()
    expect(await resumeRun(ports, run.runId)).toMatchObject({ started: false })
  })

  it('a run that has lost its branch to a newer head is only closed', async () => {
    const ports = makePorts()
    const { run } = await aRun(ports)
    for (const [key, branch] of ports.runs.branchItems) ports.runs.branchItems.set(key, { ...branch, active: 'r-ffffffffffffffff' })
    await resumeRun(ports, run.runId)
    expect(ports.executions.started.at(-1)?.input).toMatchObject({ next: 'Close', verdict: { outcome: 'superseded' } })
  })

  it('tells the history of a finished turn whose worker was cut off before it could', async () => {
    const ports = makePorts()
    const { run, state } = await aRun(ports)
    ports.sessions.items.set(`${run.runId}#reviewer`, finished('reviewer', state, { ...state, turn: 1, next: 'Fix' }))
    await resumeRun(ports, run.runId)
    expect(await ports.runs.turns(run.runId)).toEqual([turnRecordOf()])
    expect(ports.executions.started.at(-1)?.input).toMatchObject({ turn: 1, next: 'Fix' })
  })

  it('a run whose latest turn is past its TTL and gone is only closed: an old answer would count for other findings', async () => {
    const ports = makePorts()
    const { run, state } = await aRun(ports)
    await ports.runs.addTurn(run.runId, turnRecordOf())
    await park(ports, await afterReview(ports, state, { findings: [aFinding()] }), 'token')
    await decideRun(ports, run.runId, { answer: { kind: 'approve' }, by: 'ada' })
    await resumeRun(ports, run.runId)
    expect(ports.executions.started.at(-1)?.input).toMatchObject({ next: 'Close', verdict: { outcome: 'failed', error: 'ArtifactLost' } })
  })
})

describe('failures', () => {
  it.each([
    [
      { Error: 'HeadMoved', Cause: '{"errorMessage":"moved"}' },
      { error: 'HeadMoved', message: 'moved' },
    ],
    [
      { Error: 'HeadMoved', Cause: 'moved' },
      { error: 'HeadMoved', message: 'moved' },
    ],
    [
      { Error: 'Lambda.Unknown', Cause: 'exit 137' },
      { error: 'Unexpected', message: 'Lambda.Unknown: exit 137' },
    ],
    [undefined, { error: 'Unexpected' }],
  ])('reads %j', (error, failure) => {
    expect(failureOf(error)).toMatchObject(failure)
  })

  it('RecordFailure keeps the state, says what failed, and leads to Close', async () => {
    const ports = makePorts()
    const { run, state } = await aRun(ports)
    const next = await recordFailure(ports, { ...state, changeset: 'k', error: { Error: 'HeadMoved', Cause: 'moved' } })
    expect(next).toMatchObject({ next: 'Close', changeset: 'k', verdict: { outcome: 'failed', error: 'HeadMoved' } })
    expect(next).not.toHaveProperty('error')
    expect(ports.runs.runItems.get(run.runId)?.failure).toEqual({ error: 'HeadMoved', message: 'moved' })
  })

  it('a stale execution records nothing', async () => {
    const ports = makePorts()
    const { run, state } = await aRun(ports)
    await resumeRun(ports, run.runId)
    await expect(recordFailure(ports, { ...state, error: { Error: 'HeadMoved' } })).rejects.toMatchObject({ name: 'StaleExecution' })
    expect(ports.runs.runItems.get(run.runId)?.failure).toBeNull()
  })

  it('an execution that ended unseen is closed under a new epoch; one that no longer speaks for its run is left alone', async () => {
    const ports = makePorts()
    const { run } = await aRun(ports)
    expect(await recordLostExecution(ports, { name: `${run.runId}-1`, status: 'TIMED_OUT' })).toEqual({ closed: true })
    expect(ports.executions.started.at(-1)).toMatchObject({
      name: `${run.runId}-2`,
      input: { next: 'Close', verdict: { outcome: 'failed' } },
    })
    expect(await recordLostExecution(ports, { name: `${run.runId}-1`, status: 'ABORTED' })).toEqual({ closed: false })
    await expect(recordLostExecution(ports, { name: 'somebody-elses', status: 'FAILED' })).rejects.toMatchObject({ name: 'BadRequest' })
  })

  it('a Close that was lost is taken up again under a new epoch, for a while', async () => {
    const ports = makePorts()
    const { run } = await aRun(ports)
    const ended = { ...run, status: 'ended', verdict: CLEAN, endedAt: new Date(ports.effects.now()).toISOString() } as const
    ports.runs.runItems.set(run.runId, ended)
    expect(await recordLostExecution(ports, { name: `${run.runId}-1`, status: 'FAILED' })).toEqual({ closed: true })
    expect(ports.executions.started.at(-1)).toMatchObject({ name: `${run.runId}-2`, input: { next: 'Close', verdict: CLEAN } })
    expect(ports.runs.runItems.get(run.runId)).toMatchObject({ status: 'ended', verdict: CLEAN, failure: null })
    ports.effects.advance(2 * 3_600_000)
    expect(await recordLostExecution(ports, { name: `${run.runId}-2`, status: 'FAILED' })).toEqual({ closed: false })
  })

  it('the first verdict stands: what was published is not made a failure by an execution that is lost after it', async () => {
    const ports = makePorts()
    const { run, state } = await aRun(ports)
    ports.runs.runItems.set(run.runId, { ...run, verdict: CLEAN })
    expect(await recordFailure(ports, { ...state, error: { Error: 'Lambda.Unknown' } })).toMatchObject({ next: 'Close', verdict: CLEAN })
    await recordLostExecution(ports, { name: `${run.runId}-1`, status: 'ABORTED' })
    expect(ports.executions.started.at(-1)?.input).toMatchObject({ next: 'Close', verdict: CLEAN })
    await expect(abortRun(ports, run.runId, 'ada')).rejects.toMatchObject({ name: 'RunEnded' })
    expect(ports.runs.runItems.get(run.runId)).toMatchObject({ verdict: CLEAN, failure: null })
  })

  it('a run that is resumed at the very time is ended all the same', async () => {
    const ports = makePorts()
    const { run } = await aRun(ports)
    const { runs } = ports.runs
    let first = true
    const interleaved: typeof runs = {
      ...runs,
      read: async (key) => {
        const item = await runs.read(key)
        if (first) {
          first = false
          await resumeRun(ports, run.runId)
        }
        return item
      },
    }
    await abortRun({ ...ports, runs: { ...ports.runs, runs: interleaved } }, run.runId, 'ada')
    expect(ports.runs.runItems.get(run.runId)).toMatchObject({ epoch: 3, verdict: { outcome: 'aborted' } })
    expect(ports.executions.started.at(-1)).toMatchObject({ name: `${run.runId}-3`, input: { next: 'Close' } })
  })

  it('ending a run twice ends it once', async () => {
    const ports = makePorts()
    const { run } = await aRun(ports)
    const verdict = { outcome: 'superseded', reason: 'superseded', by: null, error: null } as const
    const both = await Promise.all([endUnder(ports, run.runId, { verdict }), endUnder(ports, run.runId, { verdict })])
    expect(both.filter(({ closed }) => closed)).toHaveLength(1)
  })
})
