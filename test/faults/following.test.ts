/** Whoever follows a run is not thrown off by a store that fails for a moment. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { follow } from '../../lib/local/follow.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import type { Ports } from '../../lib/loop/ports.ts'
import { resumeRun } from '../../lib/loop/resume.ts'
import { startRun } from '../../lib/loop/start.ts'
import { workers } from '../support/faults/effect.ts'
import { World, type Program } from '../support/faults/world.ts'

/** Seed of nothing in particular: a world where nothing goes wrong, with one defect that a person has to be asked about. */
const calm = { rate: 0, wire: 0, outside: new Map(), opening: 'one', neighbour: 'none', waits: true, defects: 1, empty: false } as const
const agent = { resume: true, ownIds: false, trouble: 0, checkpoint: 0, blind: 0, idle: 1, breaks: 0 }

let world: World
let program: Program
let failing = (_what: string): boolean => false
const unavailable = () => new LoopError('StoreUnavailable', 'nobody answers')

/** The store of the runs fails whoever looks on or answers; the execution's own calls come from its workers. */
const shaky = (ports: Ports): Ports => ({
  ...ports,
  runs: {
    ...ports.runs,
    runs: {
      read: async (key) => {
        if (!workers.getStore() && failing('look')) throw unavailable()
        return ports.runs.runs.read(key)
      },
      write: async (key, item) => {
        if (item.decision && failing('decision')) throw unavailable()
        return ports.runs.runs.write(key, item)
      },
    },
  },
})

beforeEach(async () => {
  failing = () => false
  world = await World.open(1, { mutant: shaky, plan: { ...calm, agent, settings: { ask: 'always', rounds: 1 } } })
  program = await world.boot()
})
afterEach(async () => {
  await program.loop.engine.interrupt()
  program.loop.close()
  await world.close()
})

describe('following a run', () => {
  test('goes on when a look at it fails, and asks anew when an answer could not be stored', async () => {
    const { loop } = program
    const { run } = await startRun(loop.ports, { request: world.requests.main, startedBy: 'cli', checkHead: true })
    const said: string[] = []
    let asked = 0
    let looks = 0
    failing = (what) => what === 'look' && ++looks === 2
    const ended = await follow(loop, run.runId, {
      by: 'ada',
      tell: (message) => said.push(message),
      ask: async () => {
        asked++
        failing = (what) => what === 'decision' && asked === 1
        return { kind: 'skip' }
      },
    })
    expect(looks).toBeGreaterThan(2)
    expect(asked).toBe(2)
    expect(said).toEqual([expect.stringContaining('nobody answers')])
    expect(ended).toMatchObject({ status: 'ended', verdict: { reason: 'skipped', by: 'ada' } })
  })

  test('goes over to the execution that has taken it over, and asks what that asks', async () => {
    const { loop } = program
    const { run } = await startRun(loop.ports, { request: world.requests.main, startedBy: 'cli', checkHead: true })
    let resumed = false
    const ended = await follow(loop, run.runId, {
      by: 'ada',
      tell: () => undefined,
      ask: async (_run, signal) => {
        if (resumed) return { kind: 'skip' }
        resumed = true
        await resumeRun(loop.ports, run.runId)
        // Nobody answers the first, which is stopped.
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
        return null
      },
    })
    expect(ended).toMatchObject({ status: 'ended', epoch: 2, verdict: { reason: 'skipped', by: 'ada' } })
  })
})
