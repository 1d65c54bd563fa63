/** Runs of several rounds with the agent `codex`: the real SDK and command-line tool, a home of its own for every turn, and a model on loopback. */
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { agentRun, type AgentRunOptions } from '../support/model-server/agent-run.ts'
import { promptText } from '../support/model-server/openai.ts'
import { codexBench } from '../support/model-server/openai-agent.ts'
import { plainModel } from '../support/model-server/openai-plain-model.ts'

const bench = codexBench()
const golden = (name: string): string => fileURLToPath(new URL(`../golden/codex/${name}`, import.meta.url))
const WORDS = ['bad', 'worse', 'awful']
const run = (options: AgentRunOptions) => agentRun(bench, options, { name: 'codex' })
const threeRounds = (more: object = {}) => {
  bench.server.model = plainModel({ words: WORDS })
  return run({ base: { 'a.txt': 'one\n' }, head: { 'a.txt': 'one\nbad luck\n', 'b.txt': 'fine\n' }, ...more })
}
type Run = Awaited<ReturnType<typeof run>>
const modesOf = ({ record }: Run): string[] => record.turns.map(({ role, mode }) => `${role} ${mode}`)

/** What differs from one run to the next, and never in length. */
const settled = (text: string): string =>
  text
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '00000000-0000-0000-0000-000000000000')
    .replaceAll(/Wall time: \d+\.\d{4} seconds/g, 'Wall time: 0.0000 seconds')

describe('a run of three rounds', () => {
  let kept: Promise<Run> | null = null
  const theRun = (): Promise<Run> => (kept ??= threeRounds())

  it('keeps a session for each role and ends with a certificate', async () => {
    const { steps, state, record } = await theRun()
    expect(steps).toEqual(['Prepare', 'Review', 'Fix', 'Review', 'Fix', 'Review', 'Fix', 'Review', 'Certify', 'Publish', 'Close'])
    expect(state.verdict).toMatchObject({ outcome: 'approved', reason: 'certified' })
    expect(modesOf(await theRun())).toEqual([
      'reviewer started',
      'fixer started',
      'reviewer resumed',
      'fixer resumed',
      'reviewer resumed',
      'fixer resumed',
      'reviewer resumed',
      'certifier cold',
    ])
    expect(record.findings.map(({ rule, status }) => `${rule} ${status}`)).toEqual(WORDS.map((word) => `${word}-word fixed`))
    expect(record.commits).toHaveLength(3)
    for (const { usage, agent } of record.turns) {
      expect(agent).toBe('codex')
      expect(usage.calls).toBeGreaterThanOrEqual(2)
      // The thread's own count goes on over its turns; a turn's is its own.
      expect(usage.input).toBeLessThan(40_000)
    }
  })

  it('the second turn of a role has the first in its request, and no prompt of it twice', async () => {
    const { requests } = await theRun()
    for (const [first, second] of [
      [1, 3],
      [2, 4],
    ] as const) {
      const before = requests.get(first)?.requests.at(-1)?.input ?? []
      const after = requests.get(second)?.requests[0]?.input ?? []
      expect(after.length).toBeGreaterThan(before.length + 1)
      expect(after.slice(0, before.length)).toEqual(before)
      expect(requests.get(second)?.requests[0]?.raw.split('The change has 2 files').length).toBe(3)
    }
  })

  it('in a warm turn the prefix is byte-identical to the turn before', async () => {
    const { requests } = await theRun()
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
    const { requests } = await theRun()
    const inputOf = (turn: number) =>
      requests
        .get(turn)
        ?.requests.at(-1)
        ?.input.filter(({ role }) => role !== 'developer')
    // The system text is golden by itself.
    await expect(settled(`${JSON.stringify(inputOf(3), null, 2)}\n`)).toMatchFileSnapshot(golden('reviewer-turn-3.json'))
    await expect(settled(`${JSON.stringify(inputOf(4), null, 2)}\n`)).toMatchFileSnapshot(golden('fixer-turn-4.json'))
    await expect(`${JSON.stringify(requests.get(2)?.requests[0]?.tools, null, 2)}\n`).toMatchFileSnapshot(golden('tools-fixer.json'))
  })

  it('nobody but the model is asked for anything', async () => {
    await theRun()
    expect(bench.server.strays).toEqual([])
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
    bench.server.model = plainModel({ words: ['bad', 'worse'] })
    const ended = await run({ head: { 'a.txt': 'bad luck\n' }, ...options })
    expect(ended.state.verdict).toMatchObject({ reason: 'certified' })
    expect(ended.record.turns[2]).toMatchObject({ mode: 'fallback', why: expect.stringContaining(why) as string })
    const raw = ended.requests.get(3)?.requests[0]?.raw ?? ''
    expect(raw).toContain('you come to it without a memory of the rounds before')
    // the next turn goes on in the session that took its place
    expect(ended.record.turns[4]).toMatchObject({ role: 'reviewer', mode: 'resumed' })
  })

  it('because the model cannot take it in any more costs one too', async () => {
    bench.server.model = plainModel({ words: ['bad', 'worse'] })
    const ended = await run({
      head: { 'a.txt': 'bad luck\n' },
      before: (step, _ports, { turn }) => {
        if (step === 'Review' && turn === 2) bench.server.script.push({ failed: 'context_length_exceeded' })
      },
    })
    expect(ended.record.turns[2]).toMatchObject({ mode: 'fallback', why: expect.stringContaining('context_length_exceeded') as string })
    expect(ended.state.verdict).toMatchObject({ reason: 'certified' })
  })

  it('is not what a throttle makes of it', async () => {
    bench.server.model = plainModel({ words: WORDS })
    const throttled = run({
      head: { 'a.txt': 'bad luck\n' },
      before: (step, _ports, { turn }) => {
        if (step === 'Review' && turn === 2) bench.server.script.push({ status: 429, code: 'rate_limit_exceeded' })
      },
    })
    await expect(throttled).rejects.toMatchObject({ name: 'AgentThrottled' })
  })
})

describe('a turn longer than one invocation', () => {
  const files = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [`${name}.txt`, `bad ${name}\n`]))

  it('goes on over five and more, for every role, with the work of the fixer and without a new prompt', async () => {
    bench.server.model = plainModel({ oneByOne: true })
    const ended = await run({ head: files, oneCall: true, overrides: { limits: { continuations: 12 } } })
    expect(ended.steps).toEqual([
      'Prepare',
      ...Array<string>(5).fill('Review'),
      ...Array<string>(9).fill('Fix'),
      ...Array<string>(5).fill('Review'),
      ...Array<string>(5).fill('Certify'),
      'Publish',
      'Close',
    ])
    expect(ended.state.verdict).toMatchObject({ reason: 'certified' })
    expect(ended.record.commits).toHaveLength(1)
    expect(ended.record.commits[0]?.files).toHaveLength(4)
    const modes = modesOf(ended)
    expect(modes.slice(0, 6)).toEqual(['reviewer started', ...Array<string>(4).fill('reviewer continued'), 'fixer started'])
    expect(modes.slice(-5)).toEqual(['certifier cold', ...Array<string>(4).fill('certifier continued')])
    // one call an invocation, and one prompt a turn
    for (const { requests } of ended.requests.values()) expect(requests).toHaveLength(1)
    const last = ended.requests.get(5)?.requests[0]
    expect(last?.raw.split('The key of the data in this message').length).toBe(2)
    expect(last?.input.filter(({ type }) => type === 'function_call_output')).toHaveLength(4)
    // none of them was cut off in the middle of a call
    expect(last?.raw).not.toContain('"aborted"')
  })
})
