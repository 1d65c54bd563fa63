/** Every cap of a turn and of a run, reached by the agent `bedrock`: the run ends as `limit`, says what was spent, and is never approved. */
import { describe, expect, it } from 'vitest'
import { asLoopError } from '../../lib/loop/errors.ts'
import { recordFailure } from '../../lib/loop/record-failure.ts'
import { report as reportSchema } from '../../lib/loop/report.ts'
import type { LimitName } from '../../lib/loop/run.ts'
import { takeStep } from '../support/drive.ts'
import type { ModelReply, ModelRequest } from '../support/model-server/bedrock.ts'
import { modelBench } from '../support/model-server/bedrock-agent.ts'
import type { AgentRun } from '../support/model-server/agent-run.ts'
import { bedrockRun } from '../support/model-server/bedrock-run.ts'
import { plainModel } from '../support/model-server/plain-model.ts'

type BedrockRun = AgentRun<ModelRequest>
const bench = modelBench()
const PRICES = { REVIEWLOOP_BEDROCK_PRICES: '3/15/0.3/3.75' }
const CHANGE = { base: { 'a.txt': 'one\n' }, head: { 'a.txt': 'one\nbad luck\n', 'b.txt': 'fine\n' } }
const reportOf = ({ ports, state }: BedrockRun) => {
  const bytes = ports.artifacts.objects.get(`reports/${state.runId}/report.json`)
  return reportSchema.parse(JSON.parse(new TextDecoder().decode(bytes)))
}
const used = ({ record }: BedrockRun): number => record.turns.reduce((sum, { usage }) => sum + (usage.input ?? 0) + (usage.output ?? 0), 0)

describe('a cap that is reached ends the run, and does not approve it', () => {
  it.each<[LimitName, Record<string, number>]>([
    ['tokens', { tokens: 4000 }],
    ['dollars', { dollars: 0.02 }],
    ['minutes', { minutes: 1 }],
    ['turns', { turns: 2 }],
    ['turn_tokens', { turn_tokens: 4000 }],
    ['turn_dollars', { turn_dollars: 0.005 }],
    ['turn_calls', { turn_calls: 1 }],
  ])('%s', async (limit, limits) => {
    bench.server.model = async (request, call) => {
      if (limit === 'minutes') clock?.advance(40_000)
      return plainModel({ words: ['bad', 'worse'] })(request, call)
    }
    let clock: { advance(ms: number): void } | null = null
    const run = await bedrockRun(bench, {
      ...CHANGE,
      settings: PRICES,
      overrides: { ask: 'never', certify: 'always', limits },
      before: (_step, { effects }) => (clock = effects),
    })
    expect(run.state.verdict).toMatchObject({ outcome: 'changes-requested', reason: 'limit' })
    expect(run.record.turns.at(-1)).toMatchObject({ ended: 'limit', limit })
    expect(run.record.certificates).toEqual([])
    const { spent, outcome } = reportOf(run)
    expect(outcome).toBe('changes-requested')
    expect(spent.tokens).toBe(used(run))
    expect(spent.tokens).toBeGreaterThan(500)
    expect(spent.dollars).toBeGreaterThan(0)
  })

  it('continuations: what was done by then is kept', async () => {
    bench.server.model = plainModel({ oneByOne: true })
    const run = await bedrockRun(bench, { ...CHANGE, oneCall: true, overrides: { ask: 'never', limits: { continuations: 1 } } })
    expect(run.steps).toEqual(['Prepare', 'Review', 'Review', 'Publish', 'Close'])
    expect(run.record.turns.map(({ ended, limit }) => [ended, limit])).toEqual([
      ['checkpoint', null],
      ['limit', 'continuations'],
    ])
    expect(run.state.verdict).toMatchObject({ outcome: 'changes-requested', reason: 'limit' })
  })

  it('a turn that stops at a checkpoint while the run has reached a cap is not gone on with', async () => {
    bench.server.model = plainModel({ oneByOne: true })
    const run = await bedrockRun(bench, { ...CHANGE, oneCall: true, overrides: { ask: 'never', limits: { turns: 1 } } })
    expect(run.steps).toEqual(['Prepare', 'Review', 'Publish', 'Close'])
    expect(run.record.turns).toMatchObject([{ ended: 'limit', limit: 'turns' }])
  })

  it('what a fixer has edited by then is committed', async () => {
    bench.server.model = plainModel({ oneByOne: true })
    const many = Object.fromEntries(['a', 'b', 'c'].map((name) => [`${name}.txt`, `bad ${name}\n`]))
    const run = await bedrockRun(bench, { head: many, overrides: { ask: 'never', limits: { turn_calls: 5 } } })
    expect(run.record.turns.at(-1)).toMatchObject({ role: 'fixer', ended: 'limit', limit: 'turn_calls' })
    expect(run.record.commits).toMatchObject([{ files: ['a.txt', 'b.txt'] }])
    expect(run.state.verdict).toMatchObject({ outcome: 'changes-requested', reason: 'limit' })
  })

  it('a person who is asked is told of it, and may have it go on no further than the cap', async () => {
    const run = await bedrockRun(bench, { ...CHANGE, overrides: { limits: { turn_calls: 1 } } })
    expect(run.state.next).toBe('Park')
    const asked = await takeStep(run.ports, run.state)
    expect(run.ports.runs.runItems.get(asked.runId)?.question).toMatchObject({ why: 'limit' })
  })
})

describe('a call that failed was paid for', () => {
  it('in the turn that another attempt finishes, and in its budget', async () => {
    let failing = true
    const run = bedrockRun(bench, {
      ...CHANGE,
      overrides: { ask: 'never' },
      before: (step, _ports, { turn }) => {
        if (step !== 'Fix' || turn !== 1 || !failing) return
        failing = false
        bench.server.script.push({ tools: [{ name: 'list_files', input: {} }] }, { error: 'ThrottlingException', status: 429 })
      },
      again: (error) => error.name === 'AgentThrottled',
    })
    const { record } = await run
    const fixer = record.turns[1]
    // read, edit and report by the second attempt; the first made two
    expect(fixer).toMatchObject({ role: 'fixer', ended: 'done', usage: { calls: 5 } })
    const plain = await bedrockRun(bench, { ...CHANGE, overrides: { ask: 'never' } })
    expect(fixer?.usage.input).toBeGreaterThan(plain.record.turns[1]?.usage.input ?? Infinity)
  })

  it.each<[string, ModelReply[]]>([
    ['AgentOutputInvalid', [{ text: 'fine' }, { text: 'fine' }, { text: 'fine' }, { text: 'fine' }]],
    ['AgentThrottled', [{ tools: [{ name: 'list_files', input: {} }] }, { error: 'ThrottlingException', status: 429 }]],
  ])('by a run that fails with %s: its report says what was spent on nothing', async (name, script) => {
    let begun: Pick<BedrockRun, 'ports' | 'state'> | null = null
    const running = bedrockRun(bench, {
      ...CHANGE,
      before: (step, ports, state) => {
        begun = { ports, state }
        if (step === 'Review') bench.server.script.push(...script)
      },
    })
    const error = await running.then(() => expect.fail('it was expected to fail'), asLoopError)
    expect(error.name).toBe(name)
    const { ports, state } = begun as unknown as Pick<BedrockRun, 'ports' | 'state'>
    const closing = await recordFailure(ports, { ...state, error: { Error: error.name, Cause: error.message } })
    // Close may be run again at any point
    await takeStep(ports, closing)
    await takeStep(ports, closing)
    const { spent, outcome, turns } = reportOf({ ports, state: closing } as BedrockRun)
    expect({ outcome, turns }).toEqual({ outcome: 'failed', turns: [] })
    const sent = bench.server.requests.length
    expect(sent).toBe(script.length)
    expect(spent.tokens).toBeGreaterThan(500 * (name === 'AgentThrottled' ? 1 : sent))
    expect(spent.dollars).toBeNull()
  })
})
