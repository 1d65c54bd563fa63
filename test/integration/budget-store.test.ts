/** The counters of budgets, in the table and in memory: each call one atomic change, and the same one again none. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { BudgetStore } from '../../lib/loop/ports.ts'
import { memoryBudgets } from '../support/memory-budgets.ts'
import { startTables, type Tables } from '../support/tables.ts'

let tables: Tables
beforeAll(async () => {
  tables = await startTables()
})
afterAll(() => tables.close())

const DAY = '2026-01-05'
const use = (id: string, tokens: number, microdollars = 0, day = DAY) => ({ day, id, tokens, microdollars })

describe.each<[string, () => BudgetStore]>([
  ['the table', () => tables.runs.budgets],
  ['memory', () => memoryBudgets()],
])('budgets in %s', (_name, store) => {
  let kept: BudgetStore | null = null
  const budgets = (): BudgetStore => (kept ??= store())

  it('what was used adds up, and the same turn again changes nothing', async () => {
    expect(await budgets().spent('a', DAY)).toEqual({ tokens: 0, microdollars: 0 })
    await budgets().add('a', use('r-1#1', 100, 5))
    await budgets().add('a', use('r-1#2', 20, 1))
    await budgets().add('a', use('r-1#1', 100, 5))
    expect(await budgets().spent('a', DAY)).toEqual({ tokens: 120, microdollars: 6 })
  })

  it('scopes and days are counted each for itself', async () => {
    await budgets().add('b', use('r-1#1', 7))
    await budgets().add('b', use('r-1#1', 8, 0, '2026-01-06'))
    expect((await budgets().spent('b', DAY)).tokens).toBe(7)
    expect((await budgets().spent('b', '2026-01-06')).tokens).toBe(8)
    expect((await budgets().spent('c', DAY)).tokens).toBe(0)
  })

  it('turns that finish at once are all counted, each once', async () => {
    const turns = Array.from({ length: 40 }, (_, turn) => use(`r-2#${turn}`, 10))
    await Promise.all([...turns, ...turns].map((entry) => budgets().add('busy', entry)))
    expect((await budgets().spent('busy', DAY)).tokens).toBe(400)
  })

  it('one of many is the first to tell people that day of a bound', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => budgets().tellOnce('told', DAY, 'runs')))
    expect(answers.filter(Boolean)).toHaveLength(1)
    expect(await budgets().tellOnce('told', DAY, 'dollars')).toBe(true)
    expect(await budgets().tellOnce('told', '2026-01-06', 'runs')).toBe(true)
  })

  it('as many get a place as there are, however many come at once', async () => {
    const come = Array.from({ length: 50 }, (_, n) => budgets().enter('race', { branch: `b-${n}`, run: `r-${n}`, at: n, most: 7 }))
    expect((await Promise.all(come)).filter(({ entered }) => entered)).toHaveLength(7)
    expect(await budgets().places('race')).toHaveLength(7)
  })

  it('a branch keeps its place when a newer run takes it, and only whose it is gives it back', async () => {
    const place = { branch: 'branch#x', at: 1, most: 1 }
    expect(await budgets().enter('full', { ...place, run: 'r-old' })).toEqual({ entered: true, before: null })
    expect(await budgets().enter('full', { ...place, branch: 'branch#y', run: 'r-other' })).toEqual({ entered: false, before: null })
    expect(await budgets().enter('full', { ...place, run: 'r-new', at: 2 })).toEqual({ entered: true, before: { run: 'r-old', at: 1 } })
    await budgets().leave('full', { branch: 'branch#x', run: 'r-old' })
    expect(await budgets().places('full')).toEqual([{ branch: 'branch#x', run: 'r-new', at: 2 }])
    await budgets().leave('full', { branch: 'branch#x', run: 'r-new' }, { run: 'r-old', at: 1 })
    expect(await budgets().places('full')).toEqual([{ branch: 'branch#x', run: 'r-old', at: 1 }])
    await budgets().leave('full', { branch: 'branch#x', run: 'r-old' })
    expect(await budgets().places('full')).toEqual([])
    await budgets().leave('nobody', { branch: 'branch#x', run: 'r-old' })
  })
})
