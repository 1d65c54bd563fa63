/** The numbers of the page on costs: what a run calls is counted here, and what it costs is the page's own formula over its own inputs. */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { SIZES } from '../../lib/infra/functions.ts'
import { METRICS, OUTCOMES, THROTTLES, TURN_ROLES } from '../../lib/names.ts'
import { ALARMS } from '../../lib/infra/observability-alarms.ts'
import type { AgentTurn } from '../../lib/loop/agent.ts'
import { driveUntil } from '../support/drive.ts'
import { FakeWorkspaces } from '../support/fake-workspace.ts'
import { makePorts } from '../support/ports.ts'
import { aRun } from '../support/runs.ts'

const page = readFileSync(new URL('../../docs/cost.md', import.meta.url), 'utf8')
/** Of a table's row, the number after its name. */
const said = (name: string): number => {
  const [, text] = new RegExp(`^\\| ${name.replaceAll(/[()*]/g, '\\$&')} \\| ([\\d.,]+) \\|`, 'm').exec(page) ?? []
  if (text === undefined) throw new Error(`the page has no row ${name}`)
  return Number(text.replaceAll(',', ''))
}

/** Calls of stores in a run that finds, fixes, reviews again and certifies. */
const counts = { reads: 0, writes: 0, puts: 0, gets: 0, deletes: 0, steps: 0 }

const counting = <T extends object>(target: T, by: Partial<Record<keyof T, keyof typeof counts>>): T =>
  new Proxy(target, {
    get: (of, name) => {
      const value: unknown = Reflect.get(of, name)
      const count = by[name as keyof T]
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        if (count) counts[count]++
        return Reflect.apply(value, of, args) as unknown
      }
    },
  })

beforeAll(async () => {
  const plain = makePorts({ workspaces: new FakeWorkspaces({ base: { 'a.js': 'one\n' }, head: { 'a.js': 'one\nbad\n' } }) })
  const items = { read: 'reads', write: 'writes' } as const
  const ports = {
    ...plain,
    sessions: counting(plain.sessions, items),
    runs: {
      ...plain.runs,
      runs: counting(plain.runs.runs, items),
      branches: counting(plain.runs.branches, items),
      addTurn: (...args: Parameters<typeof plain.runs.addTurn>) => {
        counts.writes++
        return plain.runs.addTurn(...args)
      },
    },
    artifacts: counting(plain.artifacts, { put: 'puts', get: 'gets', deleteAll: 'deletes' }),
  }
  const finding = { rule: 'bad-word', severity: 'error' as const, action: 'auto-fix' as const, file: 'a.js', line: 2, text: 'bad' }
  const mend = async (turn: AgentTurn) => {
    await turn.edits?.write('a.js', new TextEncoder().encode('one\ngood\n'))
    const { task } = turn.prompt
    const results = task.kind === 'fix' ? task.findings.map(({ id }) => ({ id, status: 'fixed' as const })) : []
    return plain.agent.done({ results, summary: 'mended' })(turn)
  }
  const account = (turn: AgentTurn) => {
    const { task } = turn.prompt
    const accounts = task.kind === 'fix' ? [] : task.outstanding.map(({ id }) => ({ id, status: 'fixed' as const }))
    return plain.agent.done({ findings: [], accounts, skipped: [], summary: 'well' })(turn)
  }
  plain.agent.script.push(plain.agent.done({ findings: [finding], accounts: [], skipped: [], summary: 'one' }), mend, account, account)
  const { state } = await aRun(ports)
  const { steps } = await driveUntil(ports, state, 'Done', 'Failed')
  expect(steps).toEqual(['Prepare', 'Review', 'Fix', 'Review', 'Certify', 'Publish', 'Close'])
  counts.steps = steps.length
})

describe('what a run calls', () => {
  // Each step is entered by way of Route, as is the end; Done is a state as well.
  test('transitions of the machine', () => expect(said('transitions')).toBe(2 * counts.steps + 2))

  // The page is about orders, and need not be mended for each call more.
  test.each([
    ['reads of items', 'reads'],
    ['writes of items', 'writes'],
    ['objects written', 'puts'],
    ['objects read', 'gets'],
    ['lists of objects', 'deletes'],
  ] as const)('%s, to within a quarter', (name, counted) => {
    expect(counts[counted]).toBeGreaterThan(0)
    expect(Math.abs(said(name) - counts[counted]) / counts[counted]).toBeLessThanOrEqual(0.25)
  })
})

test('metrics and alarms of a deployment', () => {
  const values = { Role: TURN_ROLES.length, Outcome: OUTCOMES.length, Error: THROTTLES.length }
  const metrics = Object.values(METRICS).reduce((sum, { by }) => sum + (by === null ? 1 : values[by]), 0)
  expect(said('metrics, when all are said')).toBe(metrics)
  expect(said('alarms')).toBe(Object.keys(ALARMS).length)
})

describe('the worked example', () => {
  const million = 1_000_000
  const functions = () => {
    const turns = said('turns') * said('seconds of a turn') * (SIZES.Review.memory / 1024)
    const others = said('seconds of Prepare and Publish') * (SIZES.Prepare.memory / 1024)
    return (turns + others) * said('a GB-second (x86)') + (counts.steps * said('a million calls')) / million
  }
  const machine = () => (said('transitions') * said('a thousand transitions')) / 1000
  const stores = () =>
    (said('reads of items') * said('a million reads')) / million +
    (said('writes of items') * said('a million writes')) / million +
    ((said('objects written') + said('lists of objects')) * said('a thousand writes of objects')) / 1000 +
    (said('objects read') * said('a thousand reads of objects')) / 1000
  const model = () => {
    const fresh = said('tokens in') - said('of them from the cache')
    const dollars = fresh * said('a million tokens in') + said('of them from the cache') * said('a million tokens from the cache')
    return (dollars + said('tokens out') * said('a million tokens out')) / million
  }
  test.each([
    ['functions of a run', functions],
    ['machine of a run', machine],
    ['stores of a run', stores],
    ['model of a run', model],
    ['a run', () => functions() + machine() + stores() + model()],
  ])('%s', (name, value) => {
    expect(said(name)).toBeCloseTo(value(), 4)
  })
})
