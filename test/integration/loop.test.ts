import { describe, expect, it } from 'vitest'
import { decideRun } from '../../lib/loop/decide.ts'
import { patchKey } from '../../lib/loop/close.ts'
import { recordFailure } from '../../lib/loop/record-failure.ts'
import type { FindingDraft } from '../../lib/loop/finding.ts'
import type { AgentTurn } from '../../lib/loop/agent.ts'
import { runRecord } from '../../lib/loop/record.ts'
import { report as reportSchema } from '../../lib/loop/report.ts'
import { driveUntil, takeStep } from '../support/drive.ts'
import { usageOf } from '../support/fake-agent.ts'
import { FakeWorkspaces } from '../support/fake-workspace.ts'
import { deploymentOf, makePorts } from '../support/ports.ts'
import { aRun, requestOf } from '../support/runs.ts'

const defect = (text: string, more: Partial<FindingDraft> = {}): FindingDraft => ({
  rule: 'bad-word',
  severity: 'error',
  action: 'auto-fix',
  file: 'a.js',
  line: 2,
  text,
  ...more,
})
const looked = (...findings: FindingDraft[]) => ({ findings, accounts: [], skipped: [], summary: `found ${findings.length}` })

const json = (ports: { artifacts: { objects: Map<string, Uint8Array> } }, key: string | null): unknown =>
  JSON.parse(new TextDecoder().decode(ports.artifacts.objects.get(key ?? '')))
const recordOf = (ports: Parameters<typeof json>[0], key: string | null) => runRecord.parse(json(ports, key))

/** A change whose second line is bad until a fixer writes `good`. */
const setUp = async (request = {}) => {
  const ports = makePorts({ workspaces: new FakeWorkspaces({ base: { 'a.js': 'one\n' }, head: { 'a.js': 'one\nbad\n' } }) })
  const { agent } = ports
  const fixes = (turn: AgentTurn) => turn.edits?.edit('a.js', 'bad', 'good')
  const answers = {
    finds: (...found: FindingDraft[]) => agent.script.push(agent.done(looked(...found))),
    accounts: (status: 'fixed' | 'open') =>
      agent.script.push((turn) => {
        const { task } = turn.prompt
        const outstanding = task.kind === 'fix' ? [] : task.outstanding
        return agent.done({ ...looked(), accounts: outstanding.map(({ id }) => ({ id, status })) })(turn)
      }),
    fixes: (edit: (turn: AgentTurn) => unknown = fixes) =>
      agent.script.push(async (turn) => {
        await edit(turn)
        const given = turn.prompt.task.kind === 'fix' ? turn.prompt.task.findings : []
        return agent.done({ results: given.map(({ id }) => ({ id, status: 'fixed' })), summary: 'mended' })(turn)
      }),
  }
  const { run, state } = await aRun(ports, request)
  return { ports, agent, answers, runId: run.runId, start: state, item: () => ports.runs.runItems.get(run.runId) }
}

describe('the loop', () => {
  it('reviews, fixes, re-reviews, certifies, publishes and closes', async () => {
    const { ports, answers, agent, start, runId, item } = await setUp()
    answers.finds(defect('bad'))
    answers.fixes()
    answers.accounts('fixed')
    const { state, steps } = await driveUntil(ports, start, 'Done', 'Failed')
    expect(steps).toEqual(['Prepare', 'Review', 'Fix', 'Review', 'Certify', 'Publish', 'Close'])
    expect(state).toMatchObject({ next: 'Done', verdict: { outcome: 'approved', reason: 'certified' } })
    expect(agent.calls.map(({ role, session }) => `${role} ${session.mode}`)).toEqual([
      'reviewer start',
      'fixer start',
      'reviewer resume',
      'certifier none',
    ])
    expect(ports.forge.published).toMatchObject([{ target: `reviewloop/${runId}`, commit: state.commit }])
    expect(item()).toMatchObject({ status: 'ended', verdict: { outcome: 'approved' }, publishing: { commit: state.commit } })

    const record = recordOf(ports, state.record)
    expect(record.certificates).toMatchObject([{ commit: state.commit, turn: 4 }])
    expect(record.findings[0]?.history.map(({ event }) => event)).toEqual(['raised', 'given-to-fixer', 'fixed'])
    expect(record.turns.map(({ role, mode }) => `${role} ${mode}`)).toEqual([
      'reviewer started',
      'fixer started',
      'reviewer resumed',
      'certifier cold',
    ])
  })

  it('puts approved fixes onto the reviewed branch where the deployment says so, and others onto a branch of their own', async () => {
    const onto = async (status: 'fixed' | 'open', change: object = {}) => {
      const { ports, answers, start, runId } = await setUp({ overrides: { ask: 'never', rounds: 1 } })
      const given = { ...ports, deployment: deploymentOf(requestOf().repository, { publish: 'reviewed-branch', ...change }) }
      answers.finds(defect('bad'))
      answers.fixes()
      answers.accounts(status)
      const { state } = await driveUntil(given, start, 'Done', 'Failed')
      const [published] = ports.forge.published
      return [state.verdict?.outcome, published?.target === `reviewloop/${runId}` ? 'its own' : published?.target]
    }
    const { branch } = requestOf()
    expect(await onto('fixed')).toEqual(['approved', branch])
    expect(await onto('open')).toEqual(['changes-requested', 'its own'])
    expect(await onto('fixed', { publish: 'branch' })).toEqual(['approved', 'its own'])
    expect(await onto('fixed', { defaultBranch: branch })).toEqual(['approved', 'its own'])
  })

  it('ids and transcripts are gone at the end, fingerprints and reports stay', async () => {
    const { ports, answers, start, runId } = await setUp()
    answers.finds(defect('bad'))
    answers.fixes()
    answers.accounts('fixed')
    const { state } = await driveUntil(ports, start, 'Done')
    const keys = [...ports.artifacts.objects.keys()]
    expect(keys.filter((key) => key.startsWith('transcripts/') || key.startsWith('work/'))).toEqual([])
    expect(keys.filter((key) => key.startsWith('reports/')).sort()).toEqual(
      ['json', 'md', 'patch', 'sarif'].map((format) => `reports/${runId}/report.${format}`),
    )
    for (const role of ['reviewer', 'fixer', 'certifier']) {
      expect(ports.sessions.items.get(`${runId}#${role}`)).toMatchObject({ closed: true, session: null })
    }
    expect(ports.sessions.items.get(`${runId}#reviewer`)?.fingerprints).toHaveLength(1)
    const report = reportSchema.parse(json(ports, `reports/${runId}/report.json`))
    expect(report).toMatchObject({ outcome: 'approved', rounds: 1, fixes: { commit: state.commit, branch: `reviewloop/${runId}` } })
  })

  it('Close may be run again at any point', async () => {
    const { ports, answers, start } = await setUp()
    answers.finds()
    const { state } = await driveUntil(ports, start, 'Close')
    const once = await takeStep(ports, state)
    const before = structuredClone([...ports.artifacts.objects])
    ports.effects.advance(1000)
    expect(await takeStep(ports, state)).toEqual(once)
    expect([...ports.artifacts.objects]).toEqual(before)
  })

  it('Close tells the history of a finished turn whose worker was cut off before it could', async () => {
    const { ports, start, runId } = await setUp()
    const { state } = await driveUntil({ ...ports, runs: { ...ports.runs, addTurn: async () => undefined } }, start, 'Close')
    expect(await ports.runs.turns(runId)).toEqual([])
    await takeStep(ports, state)
    expect(await ports.runs.turns(runId)).toMatchObject([{ role: 'reviewer', turn: 1 }])
  })

  it('Close ends a run whose record is lost, and says so in the report', async () => {
    const { ports, start, runId, item } = await setUp()
    const { state } = await driveUntil(ports, start, 'Close')
    ports.artifacts.objects.delete(state.record ?? '')
    expect(await takeStep(ports, state)).toMatchObject({ next: 'Done' })
    expect(item()).toMatchObject({ status: 'ended', closed: true })
    const { notices, outcome } = reportSchema.parse(json(ports, `reports/${runId}/report.json`))
    expect(outcome).toBe('approved')
    expect(notices).toEqual([expect.stringContaining('is lost')])
  })

  it('what a Close that was cut off has written stands', async () => {
    const { ports, start, runId, item } = await setUp()
    const { state } = await driveUntil(ports, start, 'Close')
    const key = `reports/${runId}/report.md`
    ports.artifacts.objects.set(key, new TextEncoder().encode('as it was written first'))
    expect(await takeStep(ports, state)).toMatchObject({ next: 'Done' })
    expect(new TextDecoder().decode(ports.artifacts.objects.get(key))).toBe('as it was written first')
    expect(item()).toMatchObject({ closed: true })
  })

  it('a worker that its execution has given up on publishes no more: the first verdict stands', async () => {
    const { ports, start, runId } = await setUp()
    const { state } = await driveUntil(ports, start, 'Publish')
    await recordFailure(ports, { ...state, error: { Error: 'Lambda.Unknown' } })
    await expect(takeStep(ports, state)).rejects.toMatchObject({ name: 'StaleExecution' })
    expect(ports.forge.published).toEqual([])
    expect(ports.runs.runItems.get(runId)?.verdict).toMatchObject({ outcome: 'failed' })
  })

  it('an empty change is approved without an agent', async () => {
    const { ports, start, agent } = await setUp()
    ports.workspaces.head = ports.workspaces.base
    const { steps, state } = await driveUntil(ports, start, 'Done')
    expect(steps).toEqual(['Prepare', 'Publish', 'Close'])
    expect(state.verdict).toMatchObject({ outcome: 'approved', reason: 'nothing-to-review' })
    expect(agent.calls).toEqual([])
  })

  it('a clean first review is approved without a certificate, since no machine wrote any of it', async () => {
    const { ports, start } = await setUp()
    const { steps, state } = await driveUntil(ports, start, 'Done')
    expect(steps).toEqual(['Prepare', 'Review', 'Publish', 'Close'])
    expect(state.verdict?.reason).toBe('clean')
    expect(ports.forge.published).toEqual([])
  })

  it('certify: never with fix commits does not approve', async () => {
    const { ports, answers, start } = await setUp({ overrides: { certify: 'never' } })
    answers.finds(defect('bad'))
    answers.fixes()
    answers.accounts('fixed')
    const { state } = await driveUntil(ports, start, 'Done')
    expect(state.verdict).toMatchObject({ outcome: 'changes-requested', reason: 'not-certified' })
  })

  it('what a re-review passes over in silence stays open; left unfixed twice it parks', async () => {
    const { ports, answers, start } = await setUp()
    answers.finds(defect('bad'))
    answers.fixes((turn) => turn.edits?.write('b.js', new TextEncoder().encode('1')))
    answers.finds()
    answers.fixes((turn) => turn.edits?.write('b.js', new TextEncoder().encode('2')))
    answers.finds()
    const { steps, state } = await driveUntil(ports, start, 'Park', 'Done')
    expect(steps).toEqual(['Prepare', 'Review', 'Fix', 'Review', 'Fix', 'Review'])
    expect(state.next).toBe('Park')
    const record = recordOf(ports, state.record)
    expect(record.findings[0]).toMatchObject({ status: 'open', leftUnfixed: 2 })
    expect(record.commits[0]).toMatchObject({ outside: ['b.js'] })
  })

  it('a fixer that changes nothing parks, with its reason', async () => {
    const { ports, answers, start, item } = await setUp()
    answers.finds(defect('bad'))
    answers.fixes(() => undefined)
    const { state } = await driveUntil(ports, start, 'Decide')
    expect(state.last).toMatchObject({ step: 'Fix', commits: 0 })
    expect(item()?.question).toMatchObject({ why: 'no-change', reason: expect.stringContaining('mended') as string })
  })

  it('a certifier that opens a fixed finding again has found none fixed', async () => {
    const { ports, answers, start, item } = await setUp()
    answers.finds(defect('bad'))
    answers.fixes((turn) => turn.edits?.write('a.js', Buffer.from('one\nbad\nmore\n')))
    answers.accounts('fixed')
    answers.finds(defect('bad'))
    const { state } = await driveUntil(ports, start, 'Fix')
    const { state: after } = await driveUntil(ports, await takeStep(ports, state), 'Fix', 'Park')
    const { turns, findings } = recordOf(ports, after.record)
    expect(turns.at(-1)).toMatchObject({ role: 'certifier', raised: 0, fixed: 0, open: 1 })
    expect(findings).toMatchObject([{ status: 'open' }])
    expect(item()?.status).toBe('running')
  })

  it('at its last checkpoint with nobody to ask a run ends for the limit', async () => {
    const { ports, agent, start, item } = await setUp({ overrides: { ask: 'never', limits: { continuations: 1 } } })
    for (let call = 0; call < 2; call++) agent.script.push(() => ({ kind: 'checkpoint', usage: usageOf(), sessionId: 's' }))
    await driveUntil(ports, start, 'Done', 'Failed')
    expect(item()?.verdict).toMatchObject({ outcome: 'changes-requested', reason: 'limit' })
  })

  it('nobody to ask: Park is Publish (changes requested), and never approves', async () => {
    const { ports, answers, start } = await setUp({ overrides: { ask: 'never' } })
    answers.finds(defect('bad', { action: 'ask-user' }))
    const { steps, state } = await driveUntil(ports, start, 'Done')
    expect(steps).toEqual(['Prepare', 'Review', 'Publish', 'Close'])
    expect(state.verdict).toMatchObject({ outcome: 'changes-requested', reason: 'open-findings' })
  })

  it('a decision to fix is carried out with its notes and added findings, and the run goes on to a certificate', async () => {
    const { ports, answers, agent, start, runId } = await setUp()
    answers.finds(defect('bad', { action: 'ask-user' }))
    const parked = await driveUntil(ports, start, 'Decide')
    const [open] = recordOf(ports, parked.state.record).findings
    const id = open?.id ?? ''
    const add = [{ rule: 'person', severity: 'warning', file: 'a.js', line: 1, text: 'say two' }] as const
    await decideRun(ports, runId, {
      answer: { kind: 'fix', findings: [id], decline: [], note: 'be kind', notes: { [id]: 'gently' }, add: [...add] },
      by: 'ada',
    })
    answers.fixes()
    answers.accounts('fixed')
    const { steps, state } = await driveUntil(ports, parked.state, 'Done')
    expect(steps).toEqual(['Decide', 'Fix', 'Review', 'Certify', 'Publish', 'Close'])
    const task = agent.calls.find(({ role }) => role === 'fixer')?.prompt.task
    expect(task).toMatchObject({ kind: 'fix', notes: { '': 'be kind', [id]: 'gently' } })
    expect(task?.kind === 'fix' && task.findings.map(({ rule }) => rule)).toEqual(['bad-word', 'person'])
    const record = recordOf(ports, state.record)
    expect(record.findings[0]?.history.map(({ event }) => event)).toEqual(['raised', 'selected', 'given-to-fixer', 'fixed'])
    expect(record.decisions).toHaveLength(1)
  })

  it('approve publishes by name with what is open; the verdict is read from the items and not from the input', async () => {
    const { ports, answers, start, runId } = await setUp()
    answers.finds(defect('bad', { action: 'ask-user' }))
    const parked = await driveUntil(ports, start, 'Decide')
    const forged = {
      ...parked.state,
      next: 'Publish',
      verdict: { outcome: 'approved', reason: 'certified', by: null, error: null },
    } as const
    await expect(takeStep(ports, forged)).rejects.toMatchObject({ name: 'Unexpected' })
    await decideRun(ports, runId, { answer: { kind: 'approve' }, by: 'ada' })
    const { state } = await driveUntil(ports, parked.state, 'Done')
    expect(state.verdict).toEqual({ outcome: 'approved', reason: 'by-person', by: 'ada', error: null })
  })

  it('a checkpoint carries the uncommitted work, and the turn goes on in the same session with no new prompt', async () => {
    const { ports, answers, agent, start } = await setUp()
    answers.finds(defect('bad'))
    agent.script.push(async (turn) => {
      await turn.edits?.edit('a.js', 'bad', 'goo')
      turn.transcript.append('half done')
      return { kind: 'checkpoint', usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, dollars: 0, calls: 1 }, sessionId: 'its-own' }
    })
    answers.fixes((turn) => turn.edits?.edit('a.js', 'goo', 'good'))
    answers.accounts('fixed')
    const { steps, state } = await driveUntil(ports, start, 'Done')
    expect(steps).toEqual(['Prepare', 'Review', 'Fix', 'Fix', 'Review', 'Certify', 'Publish', 'Close'])
    const [, first, second] = agent.calls
    expect([first?.prompt.kind, second?.prompt.kind, second?.session]).toEqual(['task', 'continue', { mode: 'resume', id: 'its-own' }])
    expect(second?.history).toContain('half done')
    const record = recordOf(ports, state.record)
    expect(record.turns.map(({ mode }) => mode)).toEqual(['started', 'started', 'continued', 'resumed', 'cold'])
    expect(record.commits).toHaveLength(1)
    expect(state.round).toBe(1)
  })

  it('at a cap on tokens a run never approves by itself', async () => {
    const { ports, start } = await setUp({ overrides: { ask: 'never', limits: { tokens: 1 } } })
    const { state } = await driveUntil(ports, start, 'Done')
    expect(state.verdict).toMatchObject({ outcome: 'changes-requested', reason: 'limit' })
  })

  it('case 12: a blocking finding outside the workspace is asked to be repaired once, then fails the turn: never one finding less', async () => {
    const { ports, agent, answers, start } = await setUp({ overrides: { ask: 'never' } })
    for (const file of ['/etc/passwd', '../a.js']) answers.finds(defect('x', { file }))
    const { state } = await driveUntil(ports, start, 'Review')
    await expect(takeStep(ports, state)).rejects.toMatchObject({ name: 'AgentOutputInvalid' })
    expect(agent.calls.map(({ prompt }) => prompt.kind)).toEqual(['task', 'repair'])
  })

  it('case 12: one that does not block is refused and said; nothing else is lost', async () => {
    const { ports, answers, start } = await setUp({ overrides: { ask: 'never' } })
    const note = { severity: 'info', action: 'no-op' } as const
    answers.finds(defect('x', { ...note, file: '/etc/passwd' }), defect('z', { ...note, file: '.git/config' }), defect('kept', note))
    const { state } = await driveUntil(ports, start, 'Done')
    const record = recordOf(ports, state.record)
    expect(record.findings.map(({ text }) => text)).toEqual(['kept'])
    expect(record.notices).toHaveLength(2)
  })

  it('readers are told what the author wrote of the change, and a fixer is not', async () => {
    const { ports, answers, agent, start } = await setUp()
    ports.workspaces.messages = ['Say it badly']
    answers.finds(defect('bad'))
    answers.fixes()
    answers.accounts('fixed')
    await driveUntil(ports, start, 'Done')
    const told = agent.calls.map(({ role, prompt: { task } }) => [role, task.kind === 'fix' ? null : task.messages])
    expect(told).toEqual([
      ['reviewer', ['Say it badly']],
      ['fixer', null],
      ['reviewer', ['Say it badly']],
      ['certifier', ['Say it badly']],
    ])
    for (const { role, prompt } of agent.calls) if (role === 'fixer') expect(JSON.stringify(prompt)).not.toContain('Say it badly')
  })

  it('what a person declined is told to the reviewer whose session goes on, and stays declined when it is raised again', async () => {
    const { ports, answers, agent, start, runId } = await setUp()
    const wanted = defect('is this meant?', { rule: 'unsure', action: 'ask-user' })
    answers.finds(defect('bad'), wanted)
    answers.fixes(() => undefined)
    const parked = await driveUntil(ports, start, 'Decide')
    const [bad, unsure] = recordOf(ports, parked.state.record).findings
    const answer = { kind: 'fix' as const, findings: [bad?.id ?? ''], decline: [unsure?.id ?? ''], notes: {}, add: [], note: 'meant' }
    await decideRun(ports, runId, { answer, by: 'ada' })
    answers.fixes((turn) => turn.edits?.write('b.js', new TextEncoder().encode('mended')))
    agent.script.push(agent.done({ ...looked(wanted), accounts: [{ id: bad?.id, status: 'fixed' }] }))
    const { state } = await driveUntil(ports, parked.state, 'Done')
    const again = agent.calls.findLast(({ role }) => role === 'reviewer')
    expect(again).toMatchObject({
      session: { mode: 'resume' },
      prompt: { task: { outstanding: [{ id: bad?.id }], declined: [{ id: unsure?.id, rule: 'unsure', note: 'meant' }] } },
    })
    expect(state.verdict).toMatchObject({ outcome: 'approved', reason: 'certified' })
    expect(recordOf(ports, state.record).findings.map(({ rule, status }) => `${rule} ${status}`)).toEqual([
      'bad-word fixed',
      'unsure declined',
    ])
  })

  it('what a person declined is raised again where the code it is about is another by now', async () => {
    const { ports, answers, agent, start, runId } = await setUp()
    const wanted = defect('is this meant?', { rule: 'unsure', action: 'ask-user' })
    answers.finds(wanted)
    const parked = await driveUntil(ports, start, 'Decide')
    const [unsure] = recordOf(ports, parked.state.record).findings
    const added = { ...defect('say more'), rule: 'more', line: 1 }
    const answer = { kind: 'fix' as const, findings: [], decline: [unsure?.id ?? ''], notes: {}, add: [added] }
    await decideRun(ports, runId, { answer, by: 'ada' })
    answers.fixes((turn) => turn.edits?.write('a.js', new TextEncoder().encode('one\nworse\n')))
    agent.script.push((turn) => {
      const { task } = turn.prompt
      const accounts = task.kind === 'fix' ? [] : task.outstanding.map(({ id }) => ({ id, status: 'fixed' }))
      return agent.done({ ...looked(wanted), accounts })(turn)
    })
    const { state } = await driveUntil(ports, await takeStep(ports, parked.state), 'Decide', 'Done')
    const { findings } = recordOf(ports, state.record)
    expect(findings.map(({ rule, status }) => `${rule} ${status}`)).toEqual(['unsure declined', 'more fixed', 'unsure open'])
    expect(state.next).toBe('Decide')
  })

  it('files that nobody looked at are never clean', async () => {
    const { ports, agent, start } = await setUp({ overrides: { ask: 'never' } })
    agent.script.push(agent.done({ ...looked(), skipped: [{ file: 'a.js', reason: 'too large' }] }))
    const { state } = await driveUntil(ports, start, 'Done')
    expect(state.verdict).toMatchObject({ outcome: 'changes-requested', reason: 'open-findings' })
    expect(recordOf(ports, state.record)).toMatchObject({ skipped: [{ file: 'a.js' }], findings: [{ rule: 'not-reviewed' }] })
  })

  it.each([
    ['a symlink', { path: 'evil.js', newMode: '120000' }],
    ['a submodule', { path: 'sub', omitted: 'submodule' }],
    ['a name with a backslash', { path: 'a\\b.sql' }],
    ['a name like a home', { path: '~/c.sql' }],
  ])('%s that nobody looked at is never clean', async (_what, file) => {
    const { ports, agent, start } = await setUp({ overrides: { ask: 'never' } })
    const open = ports.workspaces.open
    const diff = { oldPath: null, status: 'added', oldMode: null, newMode: '100644', omitted: null, hunks: [], ...file } as const
    ports.workspaces.open = async (options) => Object.assign(await open(options), { diff: async () => [diff] })
    agent.script.push(agent.done({ ...looked(), skipped: 'omitted' in file ? [] : [{ file: file.path, reason: 'not read' }] }))
    const { state } = await driveUntil(ports, start, 'Done')
    expect(state.verdict).toMatchObject({ outcome: 'changes-requested', reason: 'open-findings' })
    expect(recordOf(ports, state.record).skipped).toHaveLength(1)
  })

  it('at the last checkpoint the work is committed, and the next turn of the role goes on in the session', async () => {
    const { ports, answers, agent, start, runId } = await setUp({ overrides: { limits: { continuations: 0 } } })
    answers.finds(defect('bad'))
    agent.script.push(async (turn) => {
      await turn.edits?.write('b.js', new TextEncoder().encode('half'))
      turn.transcript.append('half done')
      return { kind: 'checkpoint', usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, dollars: 0, calls: 1 }, sessionId: 'its-own' }
    })
    const parked = await driveUntil(ports, start, 'Decide')
    const record = recordOf(ports, parked.state.record)
    expect(record.turns.at(-1)).toMatchObject({ ended: 'limit', limit: 'continuations' })
    expect(record.commits).toMatchObject([{ files: ['b.js'] }])
    const id = record.findings[0]?.id ?? ''
    await decideRun(ports, runId, { answer: { kind: 'fix', findings: [id], decline: [], notes: {}, add: [] }, by: 'ada' })
    answers.fixes()
    answers.accounts('fixed')
    const { state } = await driveUntil(ports, parked.state, 'Done')
    const fixer = agent.calls.filter(({ role }) => role === 'fixer')
    expect(fixer.at(-1)).toMatchObject({ session: { mode: 'resume', id: 'its-own' }, prompt: { kind: 'task' } })
    expect(fixer.at(-1)?.history).toContain('half done')
    expect(state.verdict).toMatchObject({ outcome: 'approved', reason: 'certified' })
  })

  it('case 16: a fix of a published run that a person took out is not put back: the run parks', async () => {
    const first = await setUp()
    first.answers.finds(defect('bad'))
    first.answers.fixes()
    first.answers.accounts('fixed')
    const published = await driveUntil(first.ports, first.start, 'Done')
    first.ports.workspaces.merged = [published.state.commit]
    const { state } = await aRun(first.ports, { head: 'c'.repeat(40) })
    first.answers.finds(defect('bad'))
    const { steps, state: parked } = await driveUntil(first.ports, state, 'Park', 'Fix', 'Done')
    expect(steps).toEqual(['Prepare', 'Review'])
    expect(parked).toMatchObject({ next: 'Park', last: { open: { stuck: 1 } } })
  })

  it('a fix that nobody merged is made again: only a fix in the history of the change was taken out', async () => {
    const { ports, answers, start } = await setUp()
    answers.finds(defect('bad'))
    answers.fixes()
    answers.accounts('fixed')
    await driveUntil(ports, start, 'Done')
    const { state } = await aRun(ports, { attempt: 2 })
    answers.finds(defect('bad'))
    const { steps } = await driveUntil(ports, state, 'Park', 'Fix', 'Done')
    expect(steps).toEqual(['Prepare', 'Review'])
    expect((await driveUntil(ports, state, 'Park', 'Fix')).state.next).toBe('Fix')
  })

  it('case 24: a turn that finished and whose answer was lost is not taken again, nor its commit made again', async () => {
    const { ports, answers, agent, start } = await setUp()
    answers.finds(defect('bad'))
    answers.fixes()
    const { state } = await driveUntil(ports, start, 'Fix')
    const once = await takeStep(ports, state)
    ports.effects.advance(60_000)
    const again = await takeStep(ports, state)
    expect(again).toEqual(once)
    expect(agent.calls.filter(({ role }) => role === 'fixer')).toHaveLength(1)
    expect([...ports.artifacts.objects.keys()].filter((key) => key.startsWith('changesets/'))).toEqual([
      once.changeset,
      patchKey(once.changeset ?? ''),
    ])
  })
})
