/** What people and agents say may be long; no item and no state grows with it past what a table and a state machine take. */
import { GetItemCommand } from '@aws-sdk/client-dynamodb'
import { unmarshall } from '@aws-sdk/util-dynamodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rememberDeclined, rememberPublished } from '../../lib/loop/branch.ts'
import { decideRun } from '../../lib/loop/decide.ts'
import type { FindingDraft } from '../../lib/loop/finding.ts'
import type { RunItem } from '../../lib/loop/items.ts'
import { recordFailure } from '../../lib/loop/record-failure.ts'
import type { RunState } from '../../lib/loop/run.ts'
import { takeStep } from '../support/drive.ts'
import { FakeWorkspaces } from '../support/fake-workspace.ts'
import { makePorts } from '../support/ports.ts'
import { aRun, requestOf } from '../support/runs.ts'
import { usageOf } from '../support/fake-agent.ts'
import { startTables, type Tables } from '../support/tables.ts'

/** Step Functions' limit on what travels. */
const STATE_BYTES = 256 * 1024
/** Whatever is counted how: a table takes 400 KB. */
const ITEM_BYTES = 400 * 1024
/** Three bytes in UTF-8. */
const long = (characters: number): string => '€'.repeat(characters)

let tables: Tables
beforeAll(async () => {
  tables = await startTables()
})
afterAll(() => tables.close())

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))

/** Bytes of an item as the table holds it. */
const stored = async (key: { pk: string; sk?: string }): Promise<number> => {
  const TableName = key.sk === undefined ? tables.names.sessions : tables.names.runs
  const Key = Object.fromEntries(Object.entries(key).map(([name, S]) => [name, { S }]))
  const { Item } = await tables.client.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }))
  return Item ? bytesOf(unmarshall(Item)) : 0
}

/** The largest overrides that a request may have, or nearly so. */
const overrides = {
  path_instructions: Array.from({ length: 2 }, () => ({ path: '**', instructions: long(8000) })),
  commit_message: long(2000),
}

const setUp = async (head = 1) => {
  const ports = makePorts({
    sessions: tables.sessions,
    runs: tables.runs,
    workspaces: new FakeWorkspaces({ base: { 'a.js': 'one\n' }, head: { 'a.js': 'one\nbad\nworse\n' } }),
  })
  const { run, state } = await aRun(ports, requestOf({ head: String(head).repeat(40), branch: `size-${head}`, overrides }))
  let largest = 0
  const step = async (from: RunState): Promise<RunState> => {
    const next = await takeStep(ports, from)
    largest = Math.max(largest, bytesOf({ ...next, token: long(1000) }))
    return next
  }
  return { ports, runId: run.runId, start: { ...state, commit: run.request.head }, step, largest: () => largest }
}

const finds = (count: number, action: 'auto-fix' | 'ask-user'): FindingDraft[] =>
  Array.from({ length: count }, (_, at) => ({ rule: `rule-${at}`, severity: 'error', action, file: 'a.js', line: 2, text: long(8000) }))

describe('case 28: what is too large for a state or an item is stored aside, or refused', () => {
  it('a run with megabytes of findings, a long question and the longest decision goes through whole', async () => {
    const { ports, runId, start, step, largest } = await setUp()
    const { agent } = ports
    agent.script.push(agent.done({ findings: finds(80, 'ask-user'), accounts: [], skipped: [], summary: long(4000) }))
    let state = await step(await step(await step(start)))
    expect(state.next).toBe('Decide')
    expect(ports.artifacts.objects.get(state.record ?? '')?.byteLength).toBeGreaterThan(1_500_000)

    const { question } = (await ports.runs.runs.read(runId)) ?? {}
    expect(question?.open).toBe(80)
    const draft = { rule: 'r', severity: 'error', file: 'a.js', line: 3 } as const
    const add = Array.from({ length: 8 }, (_, at) => ({ ...draft, rule: `added-${at}`, text: long(8000) }))
    const answer = { kind: 'fix', findings: [], decline: [], notes: {}, add } as const
    await decideRun(ports, runId, { answer: { ...answer, findings: [], decline: [], add }, by: long(40) })
    expect(await stored({ pk: runId, sk: 'run' })).toBeGreaterThan(190 * 1024)

    agent.script.push((turn) => agent.done({ results: [], summary: long(4000) })(turn))
    state = await step(await step(state))
    expect(state).toMatchObject({ next: 'Park', turn: 2 })
    while (state.next !== 'Done') {
      if (state.next === 'Decide') await decideRun(ports, runId, { answer: { kind: 'skip' }, by: long(200) })
      state = await step(state)
    }
    expect(largest()).toBeLessThan(STATE_BYTES / 10)
    for (const role of ['reviewer', 'fixer', 'certifier']) expect(await stored({ pk: `${runId}#${role}` })).toBeLessThan(ITEM_BYTES / 10)
  })

  it('an agent that says much and calls its session by a long name has its turn, and a short item', async () => {
    const { ports, runId, start, step, largest } = await setUp(2)
    const { agent } = ports
    const clean = { findings: [], accounts: [], skipped: [], summary: '' }
    agent.script.push((turn) => {
      turn.transcript.append('asked')
      return { kind: 'done', output: { ...clean, findings: finds(1, 'auto-fix') }, usage: usageOf(), sessionId: 's'.repeat(500_000) }
    })
    let state = await step(await step(start))
    expect((await ports.sessions.read({ runId, role: 'reviewer' }))?.session).toBeNull()
    expect((await ports.runs.turns(runId))[0]?.why).toContain('its session id is too long to keep')
    agent.script.push(async (turn) => {
      await turn.edits?.edit('a.js', 'bad', 'good')
      return agent.done({ results: [], summary: '' })(turn)
    })
    agent.script.push(agent.done(clean))
    state = await step(await step(state))
    expect(state.turn).toBe(3)
    agent.script.push(() => ({ kind: 'session_lost', reason: long(200_000), usage: usageOf() }))
    agent.script.push(agent.done(clean))
    expect(await step({ ...state, next: 'Review' })).toMatchObject({ turn: 4 })
    const turns = await ports.runs.turns(runId)
    expect(turns.at(-1)).toMatchObject({ turn: 4, mode: 'fallback', why: expect.stringMatching(/^€{2000}$/) })
    expect(await stored({ pk: `${runId}#reviewer` })).toBeLessThan(ITEM_BYTES / 10)
    expect(largest()).toBeLessThan(STATE_BYTES / 10)
  })

  it('the branch remembers what was published last, and no more than an item holds', async () => {
    const ports = makePorts({ runs: tables.runs })
    const id = (at: number, digits: number): string => at.toString(16).padStart(digits, '0')
    for (let run = 1; run <= 25; run++)
      await rememberPublished(ports, 'branch#busy', {
        run: `r-${id(run, 16)}`,
        commits: Array.from({ length: 30 }, (_, at) => id(run * 1000 + at, 40)),
        fixed: Array.from({ length: 2000 }, (_, at) => `f-${id(run * 10_000 + at, 10)}`),
      })
    for (let run = 1; run <= 5; run++)
      await rememberDeclined(ports, 'branch#busy', {
        run: `r-${id(run, 16)}`,
        declined: Array.from({ length: 100 }, (_, at) => ({
          id: `f-${id(run * 1000 + at, 10)}`,
          rule: long(40),
          file: long(80),
          text: long(80),
          severity: 'warning' as const,
          content: 'a'.repeat(16),
          run: `r-${id(run, 16)}`,
          by: long(200),
          at: '2026-01-05T09:00:00.000Z',
        })),
        wanted: [],
      })
    const branch = await ports.runs.branches.read('branch#busy')
    expect(branch?.declined.at(-1)).toMatchObject({ run: `r-${id(5, 16)}`, id: `f-${id(5099, 10)}` })
    expect(branch?.declined[0]?.run).not.toBe(`r-${id(1, 16)}`)
    expect(branch?.published.at(-1)).toEqual({ commit: id(25_029, 40), run: `r-${id(25, 16)}` })
    expect(await stored({ pk: 'branch#busy', sk: 'branch' })).toBeLessThan(ITEM_BYTES)
  })

  it('the run item holds all of it at once: the longest request, question, decision, token and failure', async () => {
    const { ports, runId, start } = await setUp(3)
    const before = (await ports.runs.runs.read(runId)) as RunItem
    const add = Array.from({ length: 8 }, () => ({ rule: 'r', severity: 'error' as const, file: 'a.js', text: long(8000) }))
    const at = before.createdAt
    const full: RunItem = {
      ...before,
      rev: before.rev + 1,
      nonce: 'full',
      request: { ...before.request, repository: `https://${long(2000)}`, branch: long(255), publishTo: long(255) },
      startedBy: long(2048),
      question: { id: 'q1', why: 'no-change', record: long(200), open: 1, roundsLeft: 1, reason: long(4000), askedAt: at, expiresAt: at },
      token: long(2048),
      decision: { question: 'q1', answer: { kind: 'fix', findings: [], decline: [], notes: {}, add }, by: long(200), at },
      publishing: { ref: long(255), commit: before.request.head },
    }
    expect(await ports.runs.runs.write(runId, full)).toBe(true)
    await recordFailure(ports, { ...start, error: { Error: 'AgentFailed', Cause: long(32_768) } })
    expect(await ports.runs.runs.read(runId)).toMatchObject({ failure: { message: long(2000) }, token: null, startedBy: long(2048) })
    expect(await stored({ pk: runId, sk: 'run' })).toBeLessThan(ITEM_BYTES)
  })
})
