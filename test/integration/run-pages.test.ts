/** Pages of runs: by the index of the table, cut out of a small table, and in memory. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { RunSummary } from '../../lib/loop/items.ts'
import type { RunQuery, RunStore } from '../../lib/loop/ports.ts'
import { dynamoRuns } from '../../lib/stores/dynamodb/runs.ts'
import { memoryRuns } from '../support/memory-store.ts'
import { runItemOf, turnRecordOf } from '../support/ports.ts'
import { requestOf } from '../support/runs.ts'
import { startTables, type Tables } from '../support/tables.ts'

describe.each<[string, (tables: Tables) => RunStore]>([
  ['the index', (tables) => tables.runs],
  ['a small table', (tables) => dynamoRuns({ client: tables.client, table: tables.names.runs, small: true })],
  ['memory', () => memoryRuns()],
])('runs by %s', (_name, store) => {
  let tables: Tables
  beforeAll(async () => {
    tables = await startTables()
  })
  afterAll(() => tables.close())

  it('pages give each run once, newest first, and filters what they name', async () => {
    const own = store(tables)
    const at = (number: number): string => new Date(Date.UTC(2026, 0, 1, 0, Math.floor(number / 2))).toISOString()
    const ids = Array.from({ length: 23 }, (_, number) => `r-${number.toString(16).padStart(16, '0')}`)
    for (const [number, id] of ids.entries()) {
      const request = requestOf({ repository: `https://git.example/list/${number % 3}`, branch: number % 2 ? 'odd' : 'even' })
      await own.runs.write(
        id,
        runItemOf({ runId: id, nonce: id, request, status: number % 5 ? 'ended' : 'parked', createdAt: at(number), token: 'a-token' }),
      )
      await own.addTurn(id, turnRecordOf())
    }
    const all = async (query: Omit<RunQuery, 'after'>): Promise<RunSummary[]> => {
      const found: RunSummary[] = []
      let after: string | undefined
      for (let pages = 0; pages < 50; pages++) {
        const page = await own.page({ ...query, after })
        expect(page.runs.length).toBeLessThanOrEqual(query.limit)
        found.push(...page.runs)
        if (page.next === null) return found
        after = page.next
      }
      throw new Error('no end of pages')
    }
    for (const limit of [1, 4, 23, 100]) {
      const found = await all({ limit })
      expect(found.map(({ runId }) => runId).toSorted()).toEqual(ids)
      expect(found.map(({ createdAt }) => createdAt)).toEqual(
        found
          .map(({ createdAt }) => createdAt)
          .toSorted()
          .toReversed(),
      )
      expect(JSON.stringify(found)).not.toContain('a-token')
    }
    expect((await all({ limit: 3, repository: 'https://git.example/list/1.git' })).length).toBe(8)
    expect((await all({ limit: 3, branch: 'odd', status: 'parked' })).length).toBe(2)
    expect(await all({ limit: 3, branch: 'neither' })).toEqual([])
    for (const after of ['x', '2026-01-01T00:00:00.000Z_x', `yesterday_${ids[0]}`])
      await expect(own.page({ limit: 1, after })).rejects.toMatchObject({ name: 'BadRequest' })
  })
})
