/** What becomes of sessions when a run is parked and when it ends: on the real tables. */
import { describe, expect, it } from 'vitest'
import { close } from '../../lib/loop/close.ts'
import { NO_DEPLOYMENT } from '../../lib/loop/deployment.ts'
import type { RunItem } from '../../lib/loop/items.ts'
import { park } from '../../lib/loop/park.ts'
import { fingerprint } from '../../lib/loop/run-id.ts'
import { storeRecord } from '../../lib/loop/run-record.ts'
import { TURN_ROLES } from '../../lib/names.ts'
import { cleanReview } from '../support/fake-agent.ts'
import { FakeExecutions, runItemOf } from '../support/ports.ts'
import { recordSoFar, sessionRun } from '../support/session-run.ts'

const run = sessionRun()

describe('a run is parked, and a run ends', () => {
  const writeRun = async (change: Partial<RunItem> = {}): Promise<void> => {
    const item = runItemOf({ runId: run.runId(), nonce: run.effects.nonce(), ...change })
    expect(await run.tables.runs.runs.write(run.runId(), item)).toBe(true)
  }
  const ports = () => ({
    ...run.driver.ports,
    announce: async () => undefined,
    notify: async () => undefined,
    deployment: NO_DEPLOYMENT,
    executions: new FakeExecutions(),
  })
  const ended = { outcome: 'approved', reason: 'clean', by: null, error: null } as const
  const items = () => Promise.all(TURN_ROLES.map(run.itemOf))
  const transcripts = (): string[] => [...run.artifacts.objects.keys()].filter((key) => key.startsWith('transcripts/'))

  it('cleanup is idempotent, and leaves tombstones and the fingerprint, but no id and no transcript', async () => {
    await writeRun()
    await run.driver.take('reviewer', { agents: [run.agent] })
    await run.driver.take('fixer', { agents: [run.agent] })
    expect(transcripts()).toHaveLength(2)
    const state = { ...run.driver.state, verdict: ended }
    await close(ports(), state)
    const graves = await items()
    await close(ports(), state)
    expect(await items()).toEqual(graves)
    expect(graves).toMatchObject([
      { role: 'reviewer', closed: true, fence: 2, session: null, fingerprints: [fingerprint('fake-session-1')] },
      { role: 'fixer', closed: true, fence: 2, session: null, fingerprints: [fingerprint('fake-session-2')] },
      { role: 'certifier', closed: true, fence: 1, session: null },
    ])
    expect(JSON.stringify(graves)).not.toContain('fake-session')
    expect(transcripts()).toEqual([])
    expect((await run.tables.runs.turns(run.runId())).map((turn) => turn.fingerprint)).toEqual([
      fingerprint('fake-session-1'),
      fingerprint('fake-session-2'),
    ])
  })

  it('cleanup stops a worker that is still at it: its finish is discarded, and nothing of it is kept', async () => {
    await writeRun()
    run.agent.script.push(async (turn) => {
      await close(ports(), { ...run.driver.state, verdict: ended })
      return run.agent.done(cleanReview)(turn)
    })
    await expect(run.driver.take('reviewer', { agents: [run.agent] })).rejects.toMatchObject({ name: 'StaleTurn' })
    expect(await run.itemOf('reviewer')).toMatchObject({ closed: true, session: null, done: null })
    await expect(run.driver.take('reviewer', { agents: [run.agent] })).rejects.toMatchObject({ name: 'StaleExecution' })
  })

  it('cleanup never touches a parked run: not its own by an execution that is stale, not another', async () => {
    await writeRun({ status: 'parked', epoch: 2 })
    run.driver.state = { ...run.driver.state, epoch: 2 }
    await run.driver.take('reviewer', { agents: [run.agent] })
    const before = { item: await run.itemOf('reviewer'), objects: new Map(run.artifacts.objects) }
    await expect(close(ports(), { ...run.driver.state, epoch: 1, verdict: ended })).rejects.toMatchObject({ name: 'StaleExecution' })
    const parked = run.driver
    run.driver = run.newDriver(run.anotherId())
    await writeRun()
    await run.driver.take('reviewer', { agents: [run.agent] })
    await close(ports(), { ...run.driver.state, verdict: ended })
    run.driver = parked
    expect({ item: await run.itemOf('reviewer') }).toEqual({ item: before.item })
    for (const [key, bytes] of before.objects) expect(run.artifacts.objects.get(key)).toEqual(bytes)
    expect((await run.driver.take('reviewer', { agents: [run.agent] })).mode).toBe('resumed')
  })

  it('a parked run keeps its sessions past its own bound', async () => {
    await writeRun()
    await run.driver.take('reviewer', { agents: [run.agent] })
    await run.driver.take('fixer', { agents: [run.agent] })
    const wait = 24 * 24 * 3600
    const last = { step: 'Review', ended: 'done', limit: null, open: { autoFix: 0, other: 1, stuck: 0 } } as const
    const { turn } = run.driver.state
    const record = await storeRecord(ports(), { role: 'reviewer', runId: run.runId(), turn, fence: 1 }, recordSoFar())
    await park(ports(), { ...run.driver.state, last, record, policy: { ...run.driver.state.policy, askSeconds: wait } }, 'token')
    for (const role of ['reviewer', 'fixer'] as const) {
      const item = await run.itemOf(role)
      expect(item?.ttl).toBeGreaterThanOrEqual(run.effects.now() / 1000 + wait)
      expect(Date.parse(item?.session?.expiresAt ?? '')).toBeGreaterThanOrEqual(run.effects.now() + wait * 1000)
    }
    run.effects.advance(6 * 24 * 60 * 60_000)
    const settings = { sessions: { max_idle: 10_080 } }
    expect((await run.driver.take('reviewer', { agents: [run.agent], settings })).mode).toBe('resumed')
  })
})
