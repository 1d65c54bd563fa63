import { describe, expect, it } from 'vitest'
import { startFromDoor, nextAttempt } from '../../lib/loop/door.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import type { BranchItem, RunItem } from '../../lib/loop/items.ts'
import { runIdOf } from '../../lib/loop/run-id.ts'
import { startRun } from '../../lib/loop/start.ts'
import { BASE, deploymentOf, makePorts } from '../support/ports.ts'
import { aRun, requestOf } from '../support/runs.ts'

const OTHER = 'c'.repeat(40)
const named = (executions: { started: { name: string }[] }) => executions.started.map(({ name }) => name)

describe('starting a run', () => {
  it('creates the run item, takes the branch and starts the execution of epoch 1', async () => {
    const ports = makePorts()
    const { run, started } = await startRun(ports, { request: requestOf(), startedBy: 'test', checkHead: true })
    expect(started).toBe(true)
    expect(run).toMatchObject({ status: 'running', epoch: 1, startedBy: 'test' })
    expect(named(ports.executions)).toEqual([`${run.runId}-1`])
    expect(ports.executions.started[0]?.input).toMatchObject({ next: 'Prepare', turn: 0, commit: requestOf().head })
    expect([...ports.runs.branchItems.values()][0]).toMatchObject({ active: run.runId, head: run.request.head })
  })

  it('case 13: the same request twice, at once or later, is one run', async () => {
    const ports = makePorts()
    const starts = await Promise.all(
      Array.from({ length: 20 }, () => startRun(ports, { request: requestOf(), startedBy: 'test', checkHead: true })),
    )
    expect(new Set(starts.map(({ run }) => run.runId)).size).toBe(1)
    expect(starts.filter(({ started }) => started)).toHaveLength(1)
    expect(named(ports.executions)).toHaveLength(1)
    ports.effects.advance(3_600_000)
    const later = await startRun(ports, { request: requestOf(), startedBy: 'schedule', checkHead: true })
    expect(later.started).toBe(false)
    expect(ports.runs.runItems.size).toBe(1)
  })

  it('case 14: the schedule and a person start the same branch: one run, whoever starts it', async () => {
    const ports = makePorts()
    const [a, b] = await Promise.all([
      startRun(ports, { request: requestOf(), startedBy: 'schedule', checkHead: true }),
      startRun(ports, { request: requestOf(), startedBy: 'cli', checkHead: true }),
    ])
    expect(a.run.runId).toBe(b.run.runId)
  })

  it('case 14: with other wishes as well: whoever comes second is shown the run, and only an explicit re-request takes its place', async () => {
    const ports = makePorts()
    const first = await startRun(ports, { request: requestOf(), startedBy: 'cli', checkHead: true })
    const unattended = requestOf({ overrides: { ask: 'never' } })
    const second = await startRun(ports, { request: unattended, startedBy: 'schedule', checkHead: true })
    expect(second).toMatchObject({ started: false, run: { runId: first.run.runId, verdict: null } })
    expect(ports.executions.started).toHaveLength(1)
    const third = await startRun(ports, { request: unattended, startedBy: 'cli', checkHead: true, again: true })
    expect(third.started).toBe(true)
    expect(ports.runs.runItems.get(first.run.runId)?.verdict).toMatchObject({ outcome: 'superseded' })
  })

  it('refuses a head that is not the head of the branch, and a branch that is gone; nothing changes', async () => {
    const ports = makePorts()
    ports.forge.head = OTHER
    await expect(startRun(ports, { request: requestOf(), startedBy: 'test', checkHead: true })).rejects.toMatchObject({
      name: 'NotTheBranchHead',
    })
    ports.forge.head = null
    await expect(startRun(ports, { request: requestOf(), startedBy: 'test', checkHead: true })).rejects.toMatchObject({
      name: 'BranchGone',
    })
    expect(ports.runs.runItems.size + ports.runs.branchItems.size + ports.executions.started.length).toBe(0)
  })

  it('refuses wrong settings and wrong requests; nothing changes', async () => {
    const ports = makePorts()
    await expect(startRun(ports, { request: requestOf({ head: 'HEAD' }), startedBy: 'test', checkHead: false })).rejects.toMatchObject({
      name: 'BadRequest',
    })
    await expect(
      startRun(ports, { request: { ...requestOf(), overrides: { rounds: 99 } }, startedBy: 'test', checkHead: false }),
    ).rejects.toMatchObject({ name: 'BadRequest' })
    expect(ports.runs.runItems.size).toBe(0)
  })

  it('a newer head supersedes the older run, which is ended by an execution of its own that only closes', async () => {
    const ports = makePorts()
    const older = await aRun(ports)
    const newer = await aRun(ports, { head: OTHER })
    expect(ports.runs.runItems.get(older.run.runId)).toMatchObject({ epoch: 2, verdict: { outcome: 'superseded' } })
    expect(ports.executions.started.find(({ name }) => name === `${older.run.runId}-2`)?.input).toMatchObject({ next: 'Close', epoch: 2 })
    expect(ports.executions.stopped).toContain(`${older.run.runId}-1`)
    expect([...ports.runs.branchItems.values()][0]).toMatchObject({ active: newer.run.runId })
  })

  it('of many heads started at once exactly one run is left going on the branch', async () => {
    const ports = makePorts()
    const heads = Array.from({ length: 8 }, (_, at) => String(at).repeat(40))
    await Promise.all(heads.map((head) => startRun(ports, { request: requestOf({ head }), startedBy: 'test', checkHead: false })))
    const going = [...ports.runs.runItems.values()].filter((run) => run.verdict === null)
    expect(going).toHaveLength(1)
    expect([...ports.runs.branchItems.values()][0]?.active).toBe(going[0]?.runId)
  })

  it('a head that we published starts nothing, unless a new attempt is asked for', async () => {
    const ports = makePorts()
    const { run } = await aRun(ports)
    const [key] = [...ports.runs.branchItems.keys()]
    const branch = ports.runs.branchItems.get(key ?? '')
    if (!key || !branch) throw new Error('no branch item')
    ports.runs.branchItems.set(key, { ...branch, active: null, published: [{ commit: OTHER, run: run.runId }] })
    const own = await startRun(ports, { request: requestOf({ head: OTHER }), startedBy: 'webhook', checkHead: false })
    expect(own).toMatchObject({ started: false, run: { runId: run.runId } })
    const again = await startRun(ports, { request: requestOf({ head: OTHER, attempt: 2 }), startedBy: 'cli', checkHead: false })
    expect(again.started).toBe(true)
  })

  it('a run that lost its branch before it was begun is not begun by the same request: it gives way', async () => {
    const ports = makePorts()
    const older = await aRun(ports)
    const newer = await aRun(ports, { head: OTHER })
    // The older start was cut off between its lock and its end: nobody has ended its run.
    ports.runs.runItems.set(older.run.runId, older.run)
    ports.executions.started.length = 0
    const again = await startRun(ports, { request: requestOf(), startedBy: 'test', checkHead: false })
    expect(again).toMatchObject({ started: false, run: { verdict: { outcome: 'superseded' } } })
    expect(ports.executions.started).toMatchObject([{ name: `${older.run.runId}-2`, input: { next: 'Close' } }])
    expect([...ports.runs.branchItems.values()][0]?.active).toBe(newer.run.runId)
  })

  it('a start that was cut off before there was a run leaves a lock that keeps nobody out', async () => {
    const ports = makePorts()
    const cut = new LoopError('StoreUnavailable', 'the table does not answer')
    const dying = { ...ports.runs, runs: { ...ports.runs.runs, write: () => Promise.reject(cut) } }
    const request = requestOf({ head: OTHER })
    await expect(startRun({ ...ports, runs: dying }, { request, startedBy: 'test', checkHead: false })).rejects.toBe(cut)
    expect([...ports.runs.branchItems.values()][0]?.active).toBe(runIdOf(request, ports.defaultAgents))
    const { run, started } = await startRun(ports, { request: requestOf(), startedBy: 'test', checkHead: false })
    expect(started).toBe(true)
    expect([...ports.runs.branchItems.values()][0]?.active).toBe(run.runId)
  })

  it('a newer start that found no run item to supersede yet does not take the branch from a run that has begun since', async () => {
    const ports = makePorts()
    const { runs } = ports.runs
    const olderLocks = Promise.withResolvers<void>()
    const olderGoesOn = Promise.withResolvers<void>()
    // The older start stands between its lock and its run item while the newer one looks for that.
    const slow = { ...runs, write: async (key: string, item: RunItem) => olderGoesOn.promise.then(() => runs.write(key, item)) }
    const branches = {
      ...ports.runs.branches,
      write: async (key: string, item: BranchItem) => ports.runs.branches.write(key, item).finally(() => olderLocks.resolve()),
    }
    const older = startRun(
      { ...ports, runs: { ...ports.runs, branches, runs: slow } },
      { request: requestOf(), startedBy: 'a', checkHead: false },
    )
    await olderLocks.promise
    const late = {
      ...runs,
      read: async (key: string) => {
        const found = await runs.read(key)
        if (key !== newerId && !found) {
          olderGoesOn.resolve()
          await older
        }
        return found
      },
    }
    const newerId = runIdOf(requestOf({ head: OTHER }), ports.defaultAgents)
    await startRun(
      { ...ports, runs: { ...ports.runs, runs: late } },
      { request: requestOf({ head: OTHER }), startedBy: 'b', checkHead: false },
    )
    const going = [...ports.runs.runItems.values()].filter(({ verdict }) => verdict === null)
    expect(going.map(({ runId }) => runId)).toEqual([newerId])
    expect([...ports.runs.branchItems.values()][0]?.active).toBe(newerId)
  })

  it('a start that comes when the same request has run to its end leaves no lock', async () => {
    const ports = makePorts()
    const { run } = await aRun(ports)
    const { runs } = ports.runs
    let reads = 0
    // The run ends, and frees its branch, between the first look and the lock.
    const late = { ...runs, read: async (key: string) => (reads++ === 0 ? null : runs.read(key)) }
    ports.runs.runItems.set(run.runId, { ...run, status: 'ended', closed: true })
    for (const [key, branch] of ports.runs.branchItems) ports.runs.branchItems.set(key, { ...branch, active: null })
    const started = await startRun(
      { ...ports, runs: { ...ports.runs, runs: late } },
      { request: requestOf(), startedBy: 'test', checkHead: false },
    )
    expect(started).toMatchObject({ started: false, run: { status: 'ended' } })
    expect([...ports.runs.branchItems.values()][0]?.active).toBeNull()
  })

  it('a start whose execution was never started is made good by the same request', async () => {
    const ports = makePorts()
    await aRun(ports)
    ports.executions.started.length = 0
    await aRun(ports)
    expect(ports.executions.started).toHaveLength(1)
  })
})

describe('the doors', () => {
  const deployment = deploymentOf('https://git.example/team/project.git')
  const body = { repository: 'https://git.example/team/project', branch: 'feature', again: false }

  it('asks the forge for every commit', async () => {
    const ports = makePorts({ deployment })
    const { run } = await startFromDoor(ports, { body, startedBy: 'api' })
    expect(run.request).toMatchObject({ repository: 'https://git.example/team/project', head: ports.forge.head, base: BASE })
  })

  it('refuses a repository that the deployment does not name', async () => {
    const ports = makePorts({ deployment })
    const elsewhere = { ...body, repository: 'https://git.example/other/project' }
    await expect(startFromDoor(ports, { body: elsewhere, startedBy: 'api' })).rejects.toMatchObject({
      name: 'RepositoryNotAllowed',
    })
    expect(ports.runs.runItems.size).toBe(0)
  })

  it('a late redelivery of an old head starts nothing', async () => {
    const ports = makePorts({ deployment })
    await expect(startFromDoor(ports, { body: { ...body, head: OTHER }, startedBy: 'api' })).rejects.toMatchObject({
      name: 'NotTheBranchHead',
    })
  })

  it('again: a new attempt once the attempts before have ended, else the one under way', async () => {
    const ports = makePorts()
    const { run } = await aRun(ports)
    expect(await nextAttempt(ports, run.request)).toMatchObject({ attempt: 1 })
    const item = ports.runs.runItems.get(run.runId)
    if (item) ports.runs.runItems.set(run.runId, { ...item, status: 'ended' })
    expect(await nextAttempt(ports, run.request)).toMatchObject({ attempt: 2 })
  })
})
