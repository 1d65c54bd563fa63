/** Runs of several rounds with the agent `claude`, its real SDK and command-line tool, and a model on loopback. */
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import type { AgentRun } from '../support/model-server/agent-run.ts'
import { portable, requestText } from '../support/model-server/anthropic-wire.ts'
import type { ModelRequest } from '../support/model-server/bedrock.ts'
import { claudeBench } from '../support/model-server/claude-agent.ts'
import { claudeRun } from '../support/model-server/claude-run.ts'
import { plainModel } from '../support/model-server/plain-model.ts'

const bench = claudeBench()
const golden = (name: string): string => fileURLToPath(new URL(`../golden/claude/${name}`, import.meta.url))
const WORDS = ['bad', 'worse', 'awful']
const threeRounds = (more: object = {}) => {
  bench.server.model = plainModel({ words: WORDS })
  return claudeRun(bench, { base: { 'a.txt': 'one\n' }, head: { 'a.txt': 'one\nbad luck\n', 'b.txt': 'fine\n' }, ...more })
}
type Run = AgentRun<ModelRequest>
const modesOf = ({ record }: Run): string[] => record.turns.map(({ role, mode }) => `${role} ${mode}`)

describe('a run of three rounds', () => {
  let run: Run
  beforeAll(async () => {
    run = await threeRounds()
  })

  it('keeps a session for each role and ends with a certificate', () => {
    expect(run.steps).toEqual(['Prepare', 'Review', 'Fix', 'Review', 'Fix', 'Review', 'Fix', 'Review', 'Certify', 'Publish', 'Close'])
    expect(run.state.verdict).toMatchObject({ outcome: 'approved', reason: 'certified' })
    expect(modesOf(run)).toEqual([
      'reviewer started',
      'fixer started',
      'reviewer resumed',
      'fixer resumed',
      'reviewer resumed',
      'fixer resumed',
      'reviewer resumed',
      'certifier cold',
    ])
    expect(run.record.findings.map(({ rule, status }) => `${rule} ${status}`)).toEqual(WORDS.map((word) => `${word}-word fixed`))
    expect(run.record.commits).toHaveLength(3)
  })

  it('counts for each turn what it used and no more', () => {
    for (const { turn, usage, agent } of run.record.turns) {
      const calls = run.requests.get(turn)?.requests.length ?? 0
      expect(agent).toBe('claude')
      expect(usage.calls).toBe(calls)
      expect(usage.input).toBeLessThan(calls * 30_000)
      expect(usage.dollars).toBeGreaterThan(0)
      expect(usage.input).toBeGreaterThanOrEqual((usage.cacheRead ?? 0) + (usage.cacheWrite ?? 0))
    }
  })

  it('the second turn of a role has the first in its request, and no prompt of it twice', () => {
    for (const [first, second] of [
      [1, 3],
      [2, 4],
    ] as const) {
      const before = run.requests.get(first)?.requests.at(-1)?.messages ?? []
      const request = run.requests.get(second)?.requests[0]
      expect(request?.messages?.length).toBeGreaterThan(before.length)
      expect((request?.raw ?? '').split('The change has 2 files').length - 1).toBe(2)
    }
    // what did not change is not shown again
    expect(run.requests.get(3)?.requests[0]?.raw.split('added \\"b.txt\\"\\n@@').length).toBe(2)
  })

  it('in a warm turn the prefix is byte-identical to the turn before', async () => {
    const rows: string[] = ['role      turn call   bytes same-as-before    new']
    for (const role of ['reviewer', 'fixer', 'certifier']) {
      let before = ''
      for (const [turn, taken] of run.requests) {
        if (taken.role !== role) continue
        for (const [call, request] of taken.requests.entries()) {
          const text = requestText(request.raw)
          expect(text.startsWith(before), `${role}, turn ${turn}, call ${call + 1}`).toBe(true)
          const [all, same] = [text, before].map((one) => Buffer.byteLength(portable(one))) as [number, number]
          rows.push(
            `${role.padEnd(9)} ${String(turn).padStart(4)} ${String(call + 1).padStart(4)} ${String(all).padStart(7)} ${String(same).padStart(14)} ${String(all - same).padStart(6)}`,
          )
          before = text
        }
      }
    }
    await expect(`${rows.join('\n')}\n`).toMatchFileSnapshot(golden('bytes.txt'))
  })

  it('its requests are these', async () => {
    const textOf = (turn: number) => portable(requestText(run.requests.get(turn)?.requests.at(-1)?.raw ?? '{}'))
    await expect(textOf(3)).toMatchFileSnapshot(golden('reviewer-turn-3.txt'))
    await expect(textOf(2)).toMatchFileSnapshot(golden('fixer-turn-2.txt'))
  })

  it('a warm turn reads more from the cache than it writes', () => {
    const warm = run.record.turns[6]?.usage
    expect(warm?.cacheRead).toBeGreaterThan(3 * (warm?.cacheWrite ?? 0))
  })

  it('nobody is called but the model', () => {
    expect(run.requests.size).toBe(8)
    for (const { requests } of run.requests.values()) expect(requests.every(({ modelId }) => modelId === 'claude-test')).toBe(true)
  })
})

describe('a session that is dead', () => {
  const damage = (how: (objects: Map<string, Uint8Array>, key: string) => void) => ({
    before: (step: string, ports: Run['ports'], { turn }: { turn: number }) => {
      if (step !== 'Review' || turn !== 2) return
      for (const key of ports.artifacts.objects.keys()) if (key.startsWith('transcripts/reviewer/')) how(ports.artifacts.objects, key)
    },
  })

  it.each([
    ['missing', damage((objects, key) => objects.delete(key)), 'its transcript is missing'],
    ['altered', damage((objects, key) => objects.set(key, new TextEncoder().encode('{}\n'))), 'its transcript was altered'],
  ])('for a transcript that is %s costs a fresh one with a hand-over', async (_what, options, why) => {
    const run = await threeRounds(options)
    expect(run.state.verdict).toMatchObject({ reason: 'certified' })
    expect(run.record.turns[2]).toMatchObject({ mode: 'fallback', why: expect.stringContaining(why) as string })
    const raw = run.requests.get(3)?.requests[0]?.raw ?? ''
    expect(raw).toContain('you come to it without a memory of the rounds before')
    expect(raw).toContain('What was tried on these findings before')
    // the next turn goes on in the session that took its place
    expect(run.record.turns[4]).toMatchObject({ role: 'reviewer', mode: 'resumed' })
  })

  it('is not what a throttle makes of it', async () => {
    const throttled = threeRounds({
      before: (step: string, _ports: unknown, { turn }: { turn: number }) => {
        if (step === 'Review' && turn === 2) bench.server.script.push({ error: 'rate_limit_error', status: 429 })
      },
    })
    await expect(throttled).rejects.toMatchObject({ name: 'AgentThrottled' })
  })

  it('because the model cannot take it in any more costs one too', async () => {
    const error = { error: 'invalid_request_error', status: 400, message: 'prompt is too long: 210000 tokens > 200000 maximum' }
    const run = await threeRounds({
      before: (step: string, _ports: unknown, { turn }: { turn: number }) => {
        if (step === 'Review' && turn === 2) bench.server.script.push(error)
      },
    })
    expect(run.record.turns[2]).toMatchObject({ mode: 'fallback', why: expect.stringContaining('too long') as string })
    expect(run.state.verdict).toMatchObject({ reason: 'certified' })
  })
})

describe('a turn longer than one invocation', () => {
  const files = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`${name}.txt`, `bad ${name}\n`]))

  it('goes on over five and more, for every role, with the work of the fixer and without a new prompt', async () => {
    bench.server.model = plainModel({ oneByOne: true })
    const run = await claudeRun(bench, { head: files, oneCall: true, overrides: { limits: { continuations: 12 } } })
    expect(run.steps).toEqual([
      'Prepare',
      ...Array<string>(5).fill('Review'),
      ...Array<string>(9).fill('Fix'),
      ...Array<string>(5).fill('Review'),
      ...Array<string>(5).fill('Certify'),
      'Publish',
      'Close',
    ])
    expect(run.state.verdict).toMatchObject({ reason: 'certified' })
    expect(run.record.commits).toHaveLength(1)
    expect(run.record.commits[0]?.files).toHaveLength(4)
    const modes = modesOf(run)
    expect(modes.slice(0, 6)).toEqual(['reviewer started', ...Array<string>(4).fill('reviewer continued'), 'fixer started'])
    expect(modes.slice(-5)).toEqual(['certifier cold', ...Array<string>(4).fill('certifier continued')])
    // one call an invocation, and one prompt a turn
    for (const { requests } of run.requests.values()) expect(requests).toHaveLength(1)
    const last = run.requests.get(5)?.requests[0]
    expect((last?.raw ?? '').split('The key of the data in this message').length - 1).toBe(1)
    expect((last?.raw ?? '').split('"tool_result"').length - 1).toBe(4)
    expect(
      last?.messages?.filter(({ content = [], role }) => role === 'user' && content.some((block) => block.text !== undefined)),
    ).toHaveLength(1)
  })
})
