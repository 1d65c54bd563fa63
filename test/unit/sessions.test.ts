import { describe, expect, expectTypeOf, it } from 'vitest'
import { attachment, isKept } from '../../lib/loop/attachment.ts'
import type { SessionId, SessionRecord } from '../../lib/loop/items.ts'
import { policy } from '../../lib/loop/policy.ts'
import type { RoleSession, RunSessions } from '../../lib/loop/sessions.ts'
import type { Role } from '../../lib/names.ts'
import { T0 } from '../support/clock.ts'
import { FakeAgent } from '../support/fake-agent.ts'

const MINUTE = 60_000
const iso = (time: number): string => new Date(time).toISOString()

const stored = (change: Partial<SessionRecord> = {}): SessionRecord => ({
  role: 'fixer',
  agent: 'fake',
  agentVersion: '1',
  id: 's',
  cycle: 1,
  transcript: 't',
  checksum: 'c',
  tokens: 150_000,
  startedAt: iso(T0),
  usedAt: iso(T0),
  expiresAt: iso(T0 + 7 * 24 * 60 * MINUTE),
  ...change,
})

const choose = (
  options: {
    role?: Role
    settings?: unknown
    session?: SessionRecord | null
    fingerprints?: string[]
    cycle?: number
    now?: number
    resume?: boolean
    cacheMinutes?: number
  } = {},
) => {
  const { role = 'fixer', settings = {}, session = stored(), fingerprints = [], cycle = 1, now = T0, resume = true, cacheMinutes } = options
  const agent = new FakeAgent()
  agent.capabilities = { ...agent.capabilities, resume }
  if (cacheMinutes !== undefined) Object.assign(agent, { cacheMinutes })
  return attachment({ role, agent, policy: policy.parse(settings), item: { session, fingerprints }, cycle, now })
}

describe('which session a turn gets', () => {
  it.each<[string, Parameters<typeof choose>[0], object]>([
    ['its own is resumed', {}, { use: 'resume', session: { id: 's' } }],
    ['reuse is off', { settings: { session_reuse: false } }, { use: 'none' }],
    [
      'reuse is off, and the agent cannot resume',
      { settings: { session_reuse: false }, resume: false },
      { use: 'none', why: 'session_reuse is off' },
    ],
    ['the agent cannot resume', { resume: false }, { use: 'none', why: 'fake cannot resume a session' }],
    ['nothing is stored yet', { session: null }, { use: 'start', why: 'first turn of the role' }],
    ['nothing is stored any more', { session: null, fingerprints: ['a'] }, { use: 'start', why: 'no session is stored any more' }],
    ['another role made it', { role: 'reviewer' }, { use: 'start' }],
    ['another agent made it', { session: stored({ agent: 'other' }) }, { use: 'start', why: 'the stored session is one of other' }],
    ['another version made it', { session: stored({ agentVersion: '0' }) }, { use: 'start', why: 'the stored session was made by fake 0' }],
    ['it is of an earlier cycle', { settings: { sessions: { fixer: 'cycle' } }, cycle: 2 }, { use: 'start', why: 'a new cycle began' }],
    ['it is of this cycle', { settings: { sessions: { fixer: 'cycle' } } }, { use: 'resume' }],
    ['it is of an earlier cycle, and lives for the run', { cycle: 2 }, { use: 'resume' }],
    [
      'a reviewer’s lives for the turn',
      { role: 'reviewer', settings: { sessions: { reviewer: 'turn' } } },
      { use: 'start', why: 'sessions.reviewer is turn' },
    ],
    ['a fixer’s does not', { settings: { sessions: { reviewer: 'turn' } } }, { use: 'resume' }],
    ['it was idle up to the bound', { now: T0 + 60 * MINUTE }, { use: 'resume' }],
    ['it was idle past it', { now: T0 + 60 * MINUTE + 1 }, { use: 'start', why: 'idle for more than 60 minutes' }],
    ['it was idle as long as the provider keeps it', { cacheMinutes: 5, now: T0 + 5 * MINUTE }, { use: 'resume' }],
    [
      'it was idle for longer than that',
      { cacheMinutes: 5, now: T0 + 5 * MINUTE + 1 },
      { use: 'start', why: 'idle for more than the 5 minutes that the provider of fake keeps its cache' },
    ],
    ['the provider keeps nothing', { cacheMinutes: 0 }, { use: 'start', why: 'the provider of fake keeps no cache' }],
    [
      'a bound that was set holds, whatever the provider does',
      { cacheMinutes: 0, settings: { sessions: { max_idle: 90 } }, now: T0 + 90 * MINUTE },
      { use: 'resume' },
    ],
    [
      'and the other way',
      { cacheMinutes: 60, settings: { sessions: { max_idle: 5 } }, now: T0 + 6 * MINUTE },
      { use: 'start', why: 'idle for more than 5 minutes' },
    ],
    ['it grew past its bound', { session: stored({ tokens: 150_001 }) }, { use: 'start', why: 'grown to more than 150000 tokens' }],
    ['nobody knows how much it grew', { session: stored({ tokens: null }) }, { use: 'resume' }],
    ['it has expired', { session: stored({ expiresAt: iso(T0) }) }, { use: 'start', why: 'the stored session has expired' }],
  ])('%s', (_name, options, answer) => {
    expect(choose(options)).toMatchObject(answer)
  })

  it('is kept for the next turn where policy lets it', () => {
    expect(isKept('reviewer', policy.parse({}))).toBe(true)
    expect(isKept('reviewer', policy.parse({ sessions: { reviewer: 'turn' } }))).toBe(false)
    expect(isKept('fixer', policy.parse({ sessions: { reviewer: 'turn' } }))).toBe(true)
    expect(isKept('fixer', policy.parse({ session_reuse: false }))).toBe(false)
  })
})

describe('roles never meet, in types', () => {
  it('a fixer’s id is no reviewer’s, and no string is either', () => {
    expectTypeOf<SessionId<'fixer'>>().not.toExtend<SessionId<'reviewer'>>()
    expectTypeOf<SessionId<'reviewer'>>().not.toExtend<SessionId<'fixer'>>()
    expectTypeOf<string>().not.toExtend<SessionId<'reviewer'>>()
    expectTypeOf<RoleSession<'fixer'>>().not.toExtend<RoleSession<'reviewer'>>()
  })

  it('a certifier cannot ask for one', () => {
    expectTypeOf<'certifier'>().not.toExtend<Parameters<RunSessions['run']>[0]>()
    expectTypeOf<'certifier'>().not.toExtend<Parameters<RunSessions['getOrCreate']>[0]>()
    expectTypeOf<'reviewer'>().toExtend<Parameters<RunSessions['run']>[0]>()
  })
})
