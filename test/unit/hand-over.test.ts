import { describe, expect, it } from 'vitest'
import type { FindingEvent, TrackedFinding } from '../../lib/loop/finding.ts'
import { handOver } from '../../lib/loop/hand-over.ts'
import { emptyRecord, type RunRecord } from '../../lib/loop/record.ts'
import { addUsage, noUsage, tokensOf, unknownUsage } from '../../lib/loop/usage.ts'
import { turnRecordOf } from '../support/ports.ts'

const finding = (digit: string, status: TrackedFinding['status'], ...events: Partial<FindingEvent>[]): TrackedFinding => ({
  id: `f-${digit.repeat(10)}`,
  rule: 'rule',
  severity: 'error',
  action: 'auto-fix',
  file: 'a.js',
  line: 1,
  text: 'what is wrong',
  inDiff: true,
  status,
  leftUnfixed: 0,
  returned: false,
  history: events.map((event) => ({ event: 'raised', turn: 1, round: 0, ...event })),
})
const COMMIT = 'c'.repeat(40)
const record: RunRecord = {
  ...emptyRecord(),
  turns: [turnRecordOf()],
  findings: [
    finding(
      '1',
      'open',
      {},
      { event: 'given-to-fixer', commit: COMMIT, note: 'the fixer: I moved it' },
      { event: 'still-open', note: 'the reviewer: still wrong' },
    ),
    finding('2', 'open', {}, { event: 'not-fixed', note: 'the fixer: cannot' }, { event: 'selected', by: 'Ada', note: 'a person: do it' }),
    finding('3', 'declined', {}, { event: 'declined', by: 'Ada', note: 'a person: fine as it is' }),
    finding('4', 'fixed', {}, { event: 'given-to-fixer', commit: COMMIT }, { event: 'fixed' }),
    finding('5', 'withdrawn', {}, { event: 'withdrawn', note: 'the reviewer: no defect' }),
  ],
}

describe('a hand-over', () => {
  it('before the first turn there is none', () => {
    expect(handOver(emptyRecord(), { role: 'reviewer', round: 0 })).toBeNull()
  })

  it('says what is open, what was tried and what a person declined', () => {
    const told = handOver(record, { role: 'fixer', round: 2 })
    expect(told?.round).toBe(2)
    expect(told?.outstanding.map((open) => open.id)).toEqual(['f-1111111111', 'f-2222222222'])
    expect(told?.tried).toEqual([
      { id: 'f-1111111111', commit: COMMIT, note: 'the fixer: I moved it' },
      { id: 'f-2222222222', commit: null, note: 'the fixer: cannot' },
      { id: 'f-4444444444', commit: COMMIT, note: null },
    ])
    expect(told?.declined).toEqual([
      { id: 'f-3333333333', rule: 'rule', file: 'a.js', text: 'what is wrong', note: 'a person: fine as it is' },
    ])
  })

  it.each([
    ['reviewer', 'the fixer', 'the reviewer: still wrong'],
    ['fixer', 'the reviewer', 'the fixer: cannot'],
  ] as const)('never gives the %s the other role’s words; its own and persons’ it does', (role, never, own) => {
    const told = JSON.stringify(handOver(record, { role, round: 1 }))
    expect(told).not.toContain(never)
    expect(told).toContain(own)
    expect(told).toContain('a person: do it')
    expect(told).toContain('a person: fine as it is')
  })

  it('changes nothing in the record', () => {
    const before = structuredClone(record)
    handOver(record, { role: 'reviewer', round: 1 })
    expect(record).toEqual(before)
  })
})

describe('usage', () => {
  const use = { input: 1, output: 2, cacheRead: 0, cacheWrite: null, dollars: null, calls: 1 }
  it('adds up: null with a number is the number, nulls alone stay null, zero is a number', () => {
    expect(addUsage(use, { input: null, output: 3, cacheRead: null, cacheWrite: null, dollars: 0.5, calls: 2 })).toEqual({
      input: 1,
      output: 5,
      cacheRead: 0,
      cacheWrite: null,
      dollars: 0.5,
      calls: 3,
    })
    expect(addUsage(null, use)).toEqual(use)
    expect(addUsage(noUsage(), use)).toEqual(use)
  })
  it('counts a call of which nothing is known', () => {
    expect(addUsage(use, unknownUsage())).toEqual({ ...use, calls: 2 })
    expect(tokensOf(unknownUsage())).toBe(0)
    expect(tokensOf(use)).toBe(3)
  })
})
