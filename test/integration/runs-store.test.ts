/** Table Runs: the run item, the branch item, and the history of turns. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BranchItem, RunItem } from '../../lib/loop/items.ts'
import type { RunStore } from '../../lib/loop/ports.ts'
import { startTables, type Tables } from '../support/tables.ts'
import { memoryRuns } from '../support/memory-store.ts'
import { HEAD, runItemOf, turnRecordOf } from '../support/ports.ts'

let tables: Tables
beforeAll(async () => {
  tables = await startTables()
})
afterAll(() => tables.close())

const idOf = (number: number): string => `r-${number.toString(16).padStart(16, '0')}`
const runOf = (runId: string, change: Partial<RunItem> = {}): RunItem => runItemOf({ runId, nonce: `nonce of ${runId}`, ...change })
const branchOf = (key: string, change: Partial<BranchItem> = {}): BranchItem => ({
  key,
  rev: 1,
  nonce: 'n',
  active: idOf(1),
  head: HEAD,
  begun: true,
  published: [{ commit: HEAD, run: idOf(1) }],
  fixed: [],
  declined: [],
  ttl: 1_800_000_000,
  ...change,
})

describe.each<[string, () => RunStore]>([
  ['the table', () => tables.runs],
  ['memory', () => memoryRuns()],
])('runs in %s', (_name, store) => {
  const runs = (): RunStore => (kept ??= store())
  let kept: RunStore | null = null

  it('a run item and a branch item are as they were written, under compare-and-set', async () => {
    const run = runOf(idOf(1))
    expect(await runs().runs.read(run.runId)).toBeNull()
    expect(await runs().runs.write(run.runId, run)).toBe(true)
    expect(await runs().runs.read(run.runId)).toEqual(run)
    expect(await runs().runs.write(run.runId, { ...run, nonce: 'other' })).toBe(false)
    const branch = branchOf('branch#abc')
    expect(await runs().branches.write(branch.key, branch)).toBe(true)
    expect(await runs().branches.read(branch.key)).toEqual(branch)
    expect(await runs().branches.read('branch#other')).toBeNull()
  })

  it('the history gives the turns of all roles in order, past nine', async () => {
    for (const turn of [11, 2, 10, 1, 3])
      await runs().addTurn(idOf(2), turnRecordOf({ turn, role: turn % 2 ? 'reviewer' : 'fixer', endedAt: '2026-01-05T09:00:00.000Z' }))
    await runs().addTurn(idOf(2), turnRecordOf({ turn: 12, role: 'certifier' }))
    await runs().addTurn(idOf(20), turnRecordOf({ turn: 4 }))
    expect((await runs().turns(idOf(2))).map((record) => record.turn)).toEqual([1, 2, 3, 10, 11, 12])
    expect(await runs().turns(idOf(3))).toEqual([])
  })

  it('the same turn again changes nothing', async () => {
    await runs().addTurn(idOf(4), turnRecordOf({ summary: 'first' }))
    await runs().addTurn(idOf(4), turnRecordOf({ summary: 'second' }))
    expect(await runs().turns(idOf(4))).toEqual([turnRecordOf({ summary: 'first' })])
  })

  it('all runs are listed, newest first, and nothing else that the table holds', async () => {
    for (const hour of [1, 3, 2])
      await runs().runs.write(idOf(100 + hour), runOf(idOf(100 + hour), { createdAt: `2026-02-0${hour}T00:00:00.000Z` }))
    const listed = await runs().list()
    expect(listed.map((run) => run.runId)).toEqual([idOf(103), idOf(102), idOf(101), idOf(1)])
    expect((await runs().list(2)).map((run) => run.runId)).toEqual([idOf(103), idOf(102)])
  })

  it('a run that is forgotten is gone with its history, and no other is', async () => {
    await runs().runs.write(idOf(200), runOf(idOf(200)))
    for (const role of ['reviewer', 'fixer', 'certifier'] as const) await runs().addTurn(idOf(200), turnRecordOf({ role }))
    await runs().forget(idOf(200))
    await runs().forget(idOf(200))
    expect(await runs().runs.read(idOf(200))).toBeNull()
    expect(await runs().turns(idOf(200))).toEqual([])
    expect(await runs().turns(idOf(4))).toHaveLength(1)
    expect(await runs().runs.read(idOf(1))).not.toBeNull()
  })
})

it('runs that fill more than one page are all listed', async () => {
  const padding = Array.from({ length: 40 }, (_, at) => `reports/${at}/${'x'.repeat(1000)}`)
  const reports = Object.fromEntries(padding.map((key, at) => [String(at), key]))
  const ids = Array.from({ length: 60 }, (_, at) => idOf(1000 + at))
  await Promise.all(ids.map((runId) => tables.runs.runs.write(runId, runOf(runId, { reports, createdAt: '2025-01-01T00:00:00.000Z' }))))
  tables.calls.length = 0
  const listed = new Set((await tables.runs.list()).map((run) => run.runId))
  expect(ids.every((runId) => listed.has(runId))).toBe(true)
  expect(tables.calls.filter((call) => call.command === 'ScanCommand').length).toBeGreaterThan(1)
})
