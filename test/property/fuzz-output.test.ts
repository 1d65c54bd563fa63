/** Whatever an agent answers: taken whole where it fits, asked for once more where it does not, and then a typed failure; never "no findings". */
import * as fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { attempt, Meter, type AttemptOptions } from '../../lib/loop/agent-call.ts'
import type { AgentResult } from '../../lib/loop/agent.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import { fixOutput, reviewOutput, type ReviewOutput } from '../../lib/loop/output.ts'
import { loadRecord } from '../../lib/loop/run-record.ts'
import { report } from '../../lib/loop/report.ts'
import { driveUntil } from '../support/drive.ts'
import { FakeAgent, usageOf } from '../support/fake-agent.ts'
import { FakeWorkspaces } from '../support/fake-workspace.ts'
import { scaled } from '../support/hostile.ts'
import { invocationOf, makePorts, policyOf } from '../support/ports.ts'
import { aRun } from '../support/runs.ts'

// A guard against hanging, and nothing else.
vi.setConfig({ testTimeout: 600_000 })

const attemptWith = async <O>(schema: AttemptOptions<O>['schema'], ...answers: AgentResult[]) => {
  const agent = new FakeAgent('fake', ...answers)
  const ports = makePorts()
  const { files } = await ports.workspaces.open({ info: { head: 'a' }, changeset: null, work: null, editable: false } as never)
  const options: AttemptOptions<O> = {
    agent,
    schema,
    session: { mode: 'none' },
    prompt: {
      kind: 'task',
      task: { kind: 'review', diff: [], policy: policyOf(), messages: [], outstanding: [], declined: [], handOver: null },
    },
    meter: new Meter(),
    now: ports.effects.now,
    turn: {
      role: 'reviewer',
      runId: 'r',
      turn: 1,
      root: '/',
      files,
      edits: null,
      transcript: { append: () => undefined, history: () => [], reset: () => undefined },
      budget: { tokens: 1e9, dollars: 1e9, calls: 1e9 },
      ...invocationOf(ports),
    },
  }
  const ended = await attempt(options).then(
    (value) => ({ value, error: null }),
    (error: unknown) => ({ value: null, error }),
  )
  return { ...ended, agent }
}
const done = (output: unknown): AgentResult => ({ kind: 'done', output, usage: usageOf(), sessionId: null })

const text = fc.string({ maxLength: 12 })
const draft = fc.record(
  {
    rule: text,
    severity: fc.constantFrom('error', 'warning', 'info', 'fatal'),
    file: fc.constantFrom('a.js', '../x', ''),
    line: fc.integer({ min: -1, max: 5 }),
    text,
  },
  { requiredKeys: ['rule', 'severity'] },
)
const nearly = fc.record(
  {
    findings: fc.oneof(fc.array(draft, { maxLength: 4 }), fc.constant(null)),
    accounts: fc.array(fc.record({ id: text, status: fc.constantFrom('open', 'fixed', 'withdrawn', 'gone') }), { maxLength: 2 }),
    skipped: fc.array(fc.record({ file: text, reason: text }), { maxLength: 2 }),
    summary: text,
    results: fc.constant([]),
  },
  { requiredKeys: ['summary'] },
)
const fitting = fc.record({
  findings: fc.array(
    fc.record({
      rule: fc.constantFrom('r', 'q'),
      severity: fc.constantFrom('error', 'warning', 'info'),
      file: fc.constantFrom('a.js', '../x', '.git/x', 'b.js'),
      text: fc.constantFrom('t', 'u'),
    }),
    { maxLength: 4 },
  ),
  accounts: fc.array(fc.record({ id: text, status: fc.constantFrom('open', 'fixed', 'withdrawn') }), { maxLength: 2 }),
  skipped: fc.array(fc.record({ file: fc.oneof(fc.constantFrom('a.js', '../a.js', '/x'), text), reason: text }), { maxLength: 2 }),
  summary: text,
})
const anything = fc.oneof(
  { weight: 2, arbitrary: nearly },
  { weight: 2, arbitrary: fitting },
  { weight: 1, arbitrary: fc.anything({ maxDepth: 4 }) },
)

const expectInvalid = (error: unknown): void => {
  expect(error).toBeInstanceOf(LoopError)
  expect((error as LoopError).name).toBe('AgentOutputInvalid')
  expect((error as LoopError).message.length).toBeLessThan(2200)
}

test('anything as an answer: two calls at the most, and what is taken fits the schema', async () => {
  await fc.assert(
    fc.asyncProperty(anything, anything, fc.boolean(), async (first, second, fixes) => {
      const schema = fixes ? fixOutput : reviewOutput
      const { value, error, agent } = await attemptWith<unknown>(schema, done(first), done(second))
      const fits = [first, second].map((output) => schema.safeParse(output).success)
      expect(agent.calls.map(({ prompt }) => prompt.kind)).toEqual(fits[0] ? ['task'] : ['task', 'repair'])
      if (fits[0] || fits[1]) expect(value).toMatchObject({ kind: 'done', output: schema.parse(fits[0] ? first : second) })
      else expectInvalid(error)
    }),
    { numRuns: scaled(500, 50_000) },
  )
})

test('megabytes that do not fit are told in a few lines', async () => {
  const many = (one: unknown, count: number) => Array.from({ length: count }, () => one)
  const long = 'x'.repeat(2_000_000)
  const deep = JSON.parse('['.repeat(5000) + ']'.repeat(5000)) as unknown
  for (const output of [
    long,
    { findings: many({ [long.slice(0, 100)]: 1 }, scaled(20_000, 200_000)), accounts: [], skipped: [], summary: '' },
    { findings: [], accounts: [], skipped: [], summary: long },
    { findings: deep, accounts: deep, skipped: deep, summary: deep },
    { [long]: 1 },
    many(null, 200_000),
  ]) {
    const { error } = await attemptWith<ReviewOutput>(reviewOutput, done(output), done(output))
    expectInvalid(error)
  }
})

test('a whole run on answers that fit ends as documented, with a valid record and report, and none is approved over what is open', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fitting, { minLength: 1, maxLength: 5 }), async (answers) => {
      const ports = makePorts({ workspaces: new FakeWorkspaces({ base: {}, head: { 'a.js': 'one\ntwo\n' } }) })
      for (const answer of answers) ports.agent.script.push(ports.agent.done(answer))
      const { state, run } = await aRun(ports, { overrides: { ask: 'never' } })
      const ended = await driveUntil(ports, state, 'Done', 'Failed').catch((error: unknown) => error)
      if (ended instanceof Error) return expectInvalid(ended)
      const last = (ended as { state: typeof state }).state
      const record = await loadRecord(ports, last)
      const written = JSON.parse(new TextDecoder().decode(ports.artifacts.objects.get(`reports/${run.runId}/report.json`))) as unknown
      expect(report.safeParse(written).error).toBeUndefined()
      const open = record.findings.filter(
        ({ status, severity, action }) => status === 'open' && (severity !== 'info' || action === 'ask-user'),
      )
      if (last.verdict?.outcome === 'approved') expect(open).toEqual([])
      else expect(last.verdict?.outcome).toBe('changes-requested')
    }),
    { numRuns: scaled(150, 5000) },
  )
})
