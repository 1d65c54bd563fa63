import { describe, expect, test } from 'vitest'
import { costOfRun, sessionsOfTurns } from '../../lib/loop/by-turn.ts'
import type { TurnRecord, Usage } from '../../lib/loop/record.ts'

const used = (change: Partial<Usage> = {}): Usage => ({
  input: 100,
  output: 10,
  cacheRead: 0,
  cacheWrite: 5,
  dollars: 0.5,
  calls: 1,
  ...change,
})
const turnOf = (turn: number, change: Partial<TurnRecord> = {}): TurnRecord => ({
  role: 'reviewer',
  turn,
  round: 0,
  fence: 1,
  epoch: 1,
  mode: 'started',
  why: 'why',
  agent: 'a',
  agentVersion: '1',
  fingerprint: 'abc',
  ended: 'done',
  limit: null,
  usage: used(),
  startedAt: `2026-01-01T00:${String(turn * 10).padStart(2, '0')}:00.000Z`,
  endedAt: `2026-01-01T00:${String(turn * 10 + 4).padStart(2, '0')}:00.000Z`,
  raised: 0,
  fixed: 0,
  open: 0,
  commit: 'a'.repeat(40),
  summary: '',
  ...change,
})
const MINUTE = 60_000

describe('the sessions of turns', () => {
  test('are as old as their first turn, and idle since the last that they served', () => {
    const turns = [turnOf(1), turnOf(2, { role: 'fixer', fingerprint: 'abc' }), turnOf(3), turnOf(4, { fingerprint: 'new' }), turnOf(5)]
    expect(sessionsOfTurns({ turns }).map(({ age, idle }) => [age, idle])).toEqual([
      [0, null],
      [0, null],
      [20 * MINUTE, 16 * MINUTE],
      [0, null],
      [40 * MINUTE, 16 * MINUTE],
    ])
  })

  test('are none where a turn had none, also where another of its role had none before', () => {
    const turns = [turnOf(1, { fingerprint: null, mode: 'cold' }), turnOf(2, { fingerprint: null, mode: 'cold' })]
    expect(sessionsOfTurns({ turns })).toMatchObject([
      { age: null, idle: null },
      { age: null, idle: null, mode: 'cold' },
    ])
  })
})

describe('what a run cost', () => {
  const spent = { tokens: 0, dollars: 0, milliseconds: 0 }

  test('is added up by role, and zero is a number where unknown is none', () => {
    const turns = [
      turnOf(1),
      turnOf(2, { role: 'fixer', usage: used({ cacheRead: null, dollars: null }) }),
      turnOf(3, { usage: used({ cacheRead: null, calls: 3 }) }),
    ]
    const { roles, total } = costOfRun({ turns, spent })
    expect(roles.reviewer).toMatchObject({
      turns: 2,
      calls: 4,
      input: { known: 200, unknownTurns: 0 },
      cacheRead: { known: 0, unknownTurns: 1 },
      dollars: { known: 1, unknownTurns: 0 },
    })
    expect(roles.fixer).toMatchObject({ dollars: { known: 0, unknownTurns: 1 } })
    expect(total).toMatchObject({ turns: 3, calls: 5, output: { known: 30, unknownTurns: 0 }, dollars: { known: 1, unknownTurns: 1 } })
    expect(roles).not.toHaveProperty('certifier')
  })

  test('is nothing where no agent was called, which is known', () => {
    const nothing = { input: null, output: null, cacheRead: null, cacheWrite: null, dollars: null, calls: 0 }
    expect(costOfRun({ turns: [turnOf(1, { usage: nothing })], spent })).toMatchObject({
      turns: [{ input: 0, dollars: 0 }],
      total: { dollars: { known: 0, unknownTurns: 0 } },
    })
  })

  test('has what attempts used that came to no turn', () => {
    const unfinished = (dollars: number | null) =>
      costOfRun({ turns: [turnOf(1)], spent: { tokens: 150, dollars, milliseconds: 1 } }).unfinished
    expect(unfinished(0.75)).toEqual({ tokens: 40, dollars: 0.25 })
    expect(unfinished(null)).toEqual({ tokens: 40, dollars: null })
  })
})
