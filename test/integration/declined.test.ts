/** What a person declined, through whole runs that follow each other on one branch. */
import { describe, expect, it } from 'vitest'
import { decideRun } from '../../lib/loop/decide.ts'
import type { Answer } from '../../lib/loop/decision.ts'
import type { FindingDraft } from '../../lib/loop/finding.ts'
import { runRecord } from '../../lib/loop/record.ts'
import type { RunRequest, RunState } from '../../lib/loop/run.ts'
import { startRun } from '../../lib/loop/start.ts'
import { driveUntil, takeStep } from '../support/drive.ts'
import { FakeWorkspaces } from '../support/fake-workspace.ts'
import { makePorts, stateOf } from '../support/ports.ts'
import { requestOf } from '../support/runs.ts'

const LATER = 'c'.repeat(40)
const odd: FindingDraft = { rule: 'odd', severity: 'warning', action: 'ask-user', file: 'a.js', line: 2, text: 'this is odd' }
const { line: _line, ...oddFile } = odd

const setUp = () => {
  const ports = makePorts({ workspaces: new FakeWorkspaces({ base: { 'a.js': 'one\n' }, head: { 'a.js': 'one\nodd\n' } }) })
  const record = (state: RunState) => runRecord.parse(JSON.parse(new TextDecoder().decode(ports.artifacts.objects.get(state.record ?? ''))))
  /** A run whose reviewer finds `found` in each of its looks, up to where it parks or ends. */
  const run = async (found: FindingDraft[], change: Partial<RunRequest> = {}, looks = 1) => {
    ports.agent.script.length = 0
    for (let look = 0; look < looks; look++)
      ports.agent.script.push(ports.agent.done({ findings: found, accounts: [], skipped: [], summary: '' }))
    const { run: item } = await startRun(ports, { request: requestOf(change), startedBy: 'test', checkHead: false })
    const from = stateOf({ runId: item.runId, next: 'Prepare', commit: item.request.head })
    const { state } = await driveUntil(ports, from, 'Decide', 'Done', 'Failed')
    return { runId: item.runId, state }
  }
  const ids = (state: RunState) => record(state).findings.map(({ id }) => id)
  const answer = (runId: string, given: Answer) => decideRun(ports, runId, { answer: given, by: 'ada' })
  const fixOf = (findings: string[], decline: string[]): Answer => ({ kind: 'fix', findings, decline, notes: {}, add: [] })
  /** Declines what the run asks about, and ends it. */
  const decline = async (asked: { runId: string; state: RunState }) => {
    const added: FindingDraft = { rule: 'more', severity: 'info', action: 'auto-fix', file: 'a.js', line: 1, text: 'mend this too' }
    await answer(asked.runId, { kind: 'fix', findings: [], decline: ids(asked.state), notes: {}, add: [added] })
    return driveUntil(ports, asked.state, 'Done', 'Failed', 'Park')
  }
  const branch = () => [...ports.runs.branchItems.values()][0]
  return { ports, run, record, ids, answer, fixOf, decline, branch }
}

/** A first run in which a person declined the one finding, and which then ended without it. */
const declinedOnce = async (found: FindingDraft = odd) => {
  const world = setUp()
  const first = await world.run([found])
  expect(first.state.next).toBe('Decide')
  world.ports.agent.script.push(
    async (turn) => {
      await turn.edits?.write('b.js', new TextEncoder().encode('mended\n'))
      return world.ports.agent.done({ results: [], summary: 'mended' })(turn)
    },
    (turn) => {
      const { task } = turn.prompt
      const accounts = task.kind === 'fix' ? [] : task.outstanding.map(({ id }) => ({ id, status: 'fixed' as const }))
      return world.ports.agent.done({ findings: [], accounts, skipped: [], summary: '' })(turn)
    },
  )
  const { state } = await world.decline(first)
  expect(state.verdict).toMatchObject({ outcome: 'approved' })
  return { ...world, first }
}

describe('a finding that a person declined', () => {
  it('is not asked about in a later run on the branch, and the report says who declined it', async () => {
    const { run, record, ports, first } = await declinedOnce()
    ports.workspaces.head = { 'a.js': 'one\nzero\n  odd\n' }
    const { state } = await run([{ ...odd, line: 3 }], { head: LATER })
    expect(state.verdict).toMatchObject({ outcome: 'approved', reason: 'clean' })
    const [finding] = record(state).findings
    expect(finding).toMatchObject({ status: 'declined' })
    expect(finding?.history.at(-1)).toMatchObject({ event: 'declined', by: 'ada', note: expect.stringContaining(first.runId) as string })
  })

  it('is told to the reviewer in its first turn, and not to the certifier', async () => {
    const { run, ports } = await declinedOnce()
    ports.agent.calls.length = 0
    await run([odd], { head: LATER, overrides: { certify: 'always' } })
    const told = ports.agent.calls.map(({ role, prompt: { task } }) => [
      role,
      task.kind === 'fix' ? [] : task.declined.map(({ rule }) => rule),
    ])
    expect(told).toEqual([
      ['reviewer', ['odd']],
      ['certifier', []],
    ])
  })

  it('stays remembered through the runs in between, under the name of who declined it', async () => {
    const { run, record, branch } = await declinedOnce()
    for (const digit of ['1', '2', '3']) {
      const { state } = await run([odd], { head: digit.repeat(40) })
      expect(state.verdict).toMatchObject({ outcome: 'approved' })
      expect(record(state).findings[0]).toMatchObject({ status: 'declined' })
    }
    expect(branch()?.declined).toMatchObject([{ by: 'ada', severity: 'warning' }])
  })

  it.each([
    ['its line changed', { 'a.js': 'one\nodder\n' }, odd],
    ['it has grown worse', { 'a.js': 'one\nodd\n' }, { ...odd, severity: 'error' as const }],
  ])('is asked about again where %s', async (_why, head, found) => {
    const { run, ports } = await declinedOnce()
    ports.workspaces.head = head
    const { state } = await run([found], { head: LATER })
    expect(state.next).toBe('Decide')
  })

  it('and that is of a whole file is remembered while the file stays as it was, and asked about again when it changes', async () => {
    const { run, ports } = await declinedOnce(oddFile)
    expect((await run([oddFile], { head: LATER })).state.verdict).toMatchObject({ outcome: 'approved' })
    ports.workspaces.head = { 'a.js': 'one\nodd\nmore\n' }
    expect((await run([oddFile], { head: 'd'.repeat(40) })).state.next).toBe('Decide')
  })

  it('is asked about on another branch', async () => {
    const { run } = await declinedOnce()
    expect((await run([odd], { branch: 'other', head: LATER })).state.next).toBe('Decide')
  })

  it('is known to the run of a newer head at once, before the older run has been closed', async () => {
    const { run, ids, answer, fixOf, ports, branch } = setUp()
    const first = await run([odd, { ...odd, rule: 'other', line: 1 }])
    const [declined = '', fixed = ''] = ids(first.state)
    await answer(first.runId, fixOf([fixed], [declined]))
    await takeStep(ports, first.state)
    expect(branch()?.declined).toMatchObject([{ id: declined, run: first.runId, by: 'ada' }])
    const { state } = await run([odd], { head: LATER })
    expect(state.verdict).toMatchObject({ outcome: 'approved' })
  })

  it('is remembered though the run was ended before anybody acted on the decision', async () => {
    const { run, ids, answer, fixOf, ports, branch } = setUp()
    const first = await run([odd, { ...odd, rule: 'other', line: 1 }])
    const [declined = '', fixed = ''] = ids(first.state)
    await answer(first.runId, fixOf([fixed], [declined]))
    await startRun(ports, { request: requestOf({ head: LATER }), startedBy: 'test', checkHead: false })
    const closing = ports.executions.started.find(({ name }) => name === `${first.runId}-2`)?.input
    if (!closing) throw new Error('the older run is not being closed')
    await takeStep(ports, closing)
    expect(branch()?.declined.map(({ id }) => id)).toEqual([declined])
  })

  it('is forgotten when a person wants it fixed after all', async () => {
    const { run, ids, answer, fixOf, ports, branch } = await declinedOnce()
    const worse = await run([{ ...odd, severity: 'error' }], { head: LATER })
    expect(worse.state.next).toBe('Decide')
    await answer(worse.runId, fixOf(ids(worse.state), []))
    ports.agent.script.push(async (turn) => {
      await turn.edits?.edit('a.js', 'odd', 'even')
      return ports.agent.done({ results: [], summary: '' })(turn)
    })
    ports.agent.script.push((turn) => {
      const { task } = turn.prompt
      const accounts = task.kind === 'fix' ? [] : task.outstanding.map(({ id }) => ({ id, status: 'fixed' as const }))
      return ports.agent.done({ findings: [], accounts, skipped: [], summary: '' })(turn)
    })
    const { state } = await driveUntil(ports, worse.state, 'Done', 'Failed', 'Park')
    expect(state.verdict).toMatchObject({ outcome: 'approved' })
    expect(branch()?.declined).toEqual([])
  })
})
