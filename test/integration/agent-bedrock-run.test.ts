/** Runs of several rounds with the agent `bedrock`, its real client and a model on loopback. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { modelBench } from '../support/model-server/bedrock-agent.ts'
import { bedrockRun } from '../support/model-server/bedrock-run.ts'
import { plainModel } from '../support/model-server/plain-model.ts'
import { promptText } from '../support/model-server/prefix-cache.ts'

const bench = modelBench()
const golden = (name: string): string => fileURLToPath(new URL(`../golden/bedrock/${name}`, import.meta.url))
const WORDS = ['bad', 'worse', 'awful']
const threeRounds = (more: object = {}) => {
  bench.server.model = plainModel({ words: WORDS })
  return bedrockRun(bench, { base: { 'a.txt': 'one\n' }, head: { 'a.txt': 'one\nbad luck\n', 'b.txt': 'fine\n' }, ...more })
}
const modesOf = ({ record }: Awaited<ReturnType<typeof bedrockRun>>): string[] => record.turns.map(({ role, mode }) => `${role} ${mode}`)

describe('a run of three rounds', () => {
  it('keeps a session for each role and ends with a certificate', async () => {
    const run = await threeRounds()
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
    for (const { usage, agent } of run.record.turns) {
      expect(agent).toBe('bedrock')
      expect(usage.calls).toBeGreaterThanOrEqual(2)
      expect(usage.cacheWrite).toBeGreaterThan(0)
    }
  })

  it('the second turn of a role has the first in its request, and no prompt of it twice', async () => {
    const { requests } = await threeRounds()
    for (const [first, second] of [
      [1, 3],
      [2, 4],
    ] as const) {
      const before = requests.get(first)?.requests.at(-1)?.messages ?? []
      const after = requests.get(second)?.requests[0]?.messages ?? []
      expect(after.length).toBeGreaterThan(before.length)
      const raw = requests.get(second)?.requests[0]?.raw ?? ''
      expect(raw.split('The change has 2 files').length - 1).toBe(2)
    }
    // what did not change is not shown again
    expect(requests.get(3)?.requests[0]?.raw.split('added \\"b.txt\\"\\n@@').length).toBe(2)
  })

  it('in a warm turn the prefix is byte-identical to the turn before', async () => {
    const { requests } = await threeRounds()
    const rows: string[] = ['role      turn call   bytes same-as-before    new']
    for (const role of ['reviewer', 'fixer', 'certifier']) {
      let before = ''
      for (const [turn, taken] of requests) {
        if (taken.role !== role) continue
        for (const [call, request] of taken.requests.entries()) {
          const text = promptText(request)
          expect(text.startsWith(before)).toBe(true)
          const [all, same] = [Buffer.byteLength(text), Buffer.byteLength(before)]
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
    const { requests } = await threeRounds()
    const conversation = (turn: number): unknown => {
      const request = requests.get(turn)?.requests.at(-1)
      return { messages: request?.messages }
    }
    // The system text and the tools are golden by themselves.
    await expect(`${JSON.stringify(conversation(3), null, 2)}\n`).toMatchFileSnapshot(golden('reviewer-turn-3.json'))
    await expect(`${JSON.stringify(conversation(4), null, 2)}\n`).toMatchFileSnapshot(golden('fixer-turn-4.json'))
    await expect(`${JSON.stringify(conversation(8), null, 2)}\n`).toMatchFileSnapshot(golden('certifier-turn-8.json'))
    await expect(`${JSON.stringify(requests.get(2)?.requests[0]?.toolConfig, null, 2)}\n`).toMatchFileSnapshot(golden('tools-fixer.json'))
  })

  it('a warm turn reads more from the cache than it writes; a cold one has only what it wrote itself', async () => {
    const { record } = await threeRounds()
    const warm = record.turns[6]?.usage
    expect(warm?.cacheRead).toBeGreaterThan(3 * (warm?.cacheWrite ?? 0))
    bench.server.cache.clear()
    const cold = await threeRounds({ overrides: { session_reuse: false } })
    expect(modesOf(cold).every((mode) => mode.endsWith('cold'))).toBe(true)
    expect(cold.state.verdict).toMatchObject({ reason: 'certified' })
  })
})

describe('a session that lies idle', () => {
  const hour = { REVIEWLOOP_BEDROCK_CACHE: '1h' }
  it.each([
    ['within the cache of 5 minutes is resumed', {}, 2, 'resumed', 'session of the turn before'],
    ['past it is not, and the record says why', {}, 3, 'started', 'idle for more than the 5 minutes that the provider of bedrock keeps'],
    ['within a cache of an hour is resumed', hour, 20, 'resumed', 'session of the turn before'],
    ['past that is not', hour, 31, 'started', 'idle for more than the 60 minutes'],
    ['without a cache is not resumed at all', { REVIEWLOOP_BEDROCK_CACHE: 'off' }, 1, 'started', 'keeps no cache'],
  ])('%s', async (_what, settings, minutes, mode, why) => {
    const { record, requests, state } = await threeRounds({ settings, stepMs: minutes * 60_000 })
    expect(state.verdict).toMatchObject({ reason: 'certified' })
    expect(record.turns[2]).toMatchObject({ role: 'reviewer', mode, why: expect.stringContaining(why) as string })
    const raw = requests.get(3)?.requests[0]?.raw ?? ''
    expect(raw.includes('you come to it without a memory of the rounds before')).toBe(mode === 'started')
  })
})

describe('a session that is dead', () => {
  const damage = (how: (objects: Map<string, Uint8Array>, key: string) => void) => ({
    before: (step: string, ports: Awaited<ReturnType<typeof bedrockRun>>['ports'], { turn }: { turn: number }) => {
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
    expect(modesOf(run)).toContain('reviewer fallback')
    expect(run.record.turns[2]).toMatchObject({ mode: 'fallback', why: expect.stringContaining(why) as string })
    const raw = run.requests.get(3)?.requests[0]?.raw ?? ''
    expect(raw).toContain('you come to it without a memory of the rounds before')
    expect(raw).toContain('What was tried on these findings before')
    expect(run.requests.get(3)?.requests[0]?.messages).toHaveLength(1)
    // the next turn goes on in the session that took its place
    expect(run.record.turns[4]).toMatchObject({ role: 'reviewer', mode: 'resumed' })
  })

  it('because the model cannot take it in any more costs one too', async () => {
    bench.server.model = plainModel({ words: WORDS })
    const run = await bedrockRun(bench, {
      head: { 'a.txt': 'bad luck\n' },
      before: (step, _ports, { turn }) => {
        if (step === 'Review' && turn === 2)
          bench.server.script.push({ error: 'ValidationException', status: 400, message: 'Input is too long for requested model.' })
      },
    })
    expect(run.record.turns[2]).toMatchObject({ mode: 'fallback', why: expect.stringContaining('too long') as string })
    expect(run.state.verdict).toMatchObject({ reason: 'certified' })
  })

  it('is not what a throttle makes of it', async () => {
    bench.server.model = plainModel({ words: WORDS })
    const throttled = bedrockRun(bench, {
      head: { 'a.txt': 'bad luck\n' },
      before: (step, _ports, { turn }) => {
        if (step === 'Review' && turn === 2) bench.server.script.push({ error: 'ThrottlingException', status: 429 })
      },
    })
    await expect(throttled).rejects.toMatchObject({ name: 'AgentThrottled' })
  })
})

describe('a turn longer than one invocation', () => {
  const files = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`${name}.txt`, `bad ${name}\n`]))

  it('goes on over five and more, for every role, with the work of the fixer and without a new prompt', async () => {
    bench.server.model = plainModel({ oneByOne: true })
    const run = await bedrockRun(bench, { head: files, oneCall: true, overrides: { limits: { continuations: 12 } } })
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
    const last = run.requests.get(5)?.requests[0]?.raw ?? ''
    expect(last.split('The key of the data in this message').length - 1).toBe(1)
    expect(last.split('toolResult').length - 1).toBe(4)
  })
})
