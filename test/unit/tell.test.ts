/** The use case that has a forge told: what it tells, one worker at a time, and what it remembers. */
import { beforeEach, describe, expect, it } from 'vitest'
import { asLoopError, LoopError } from '../../lib/loop/errors.ts'
import { tell, tellAside } from '../../lib/loop/tell.ts'
import type { Board, News, Piece, Teller } from '../../lib/loop/telling.ts'
import { close } from '../../lib/loop/close.ts'
import { decide, decideRun } from '../../lib/loop/decide.ts'
import { park } from '../../lib/loop/park.ts'
import { recordFailure } from '../../lib/loop/record-failure.ts'
import { viewOf } from '../../lib/loop/view.ts'
import { memoryRuns } from '../support/memory-store.ts'
import { HEAD, invocationOf, makePorts } from '../support/ports.ts'
import { aFinding, afterReview, aRun } from '../support/runs.ts'

/** A forge in memory, which takes what `pieces` makes of the news. */
class Wall implements Teller {
  readonly calls: string[] = []
  readonly shown = new Map<string, string>()
  readonly news: News[] = []
  says: (news: News) => string = ({ phase, report }) => `${phase} ${report.outcome}`
  before: (call: string) => void | Promise<void> = () => {}
  after: (call: string) => void | Promise<void> = () => {}
  names = ['check', 'comment']

  tells = (repository: string) => repository.startsWith('https://git.example/')
  tell = async (news: News, board: Board): Promise<void> => {
    this.news.push(news)
    for (const name of this.names) await board.bring(name, this.piece(name, this.says(news)))
  }
  piece(name: string, says: string): Piece {
    const made = { id: `id-of-${name}`, url: null }
    const call = async <T>(what: string, act: () => T): Promise<T> => {
      await this.before(what)
      this.calls.push(what)
      const answer = act()
      await this.after(what)
      return answer
    }
    return {
      says,
      find: () => call(`find ${name}`, () => (this.shown.has(name) ? made : null)),
      create: () => call(`create ${name}`, () => (this.shown.set(name, says), made)),
      update: (id) => call(`update ${name} ${id}`, () => void this.shown.set(name, says)),
    }
  }
}

let wall: Wall
let ports: ReturnType<typeof make>
const make = (teller: Teller | null) => makePorts({ teller })
const failure = (promise: Promise<unknown>) => promise.then(() => null, asLoopError)
const tellIt = (runId: string, begun = false) => tell(ports, { runId, begun }, invocationOf(ports))
const item = (runId: string) => ports.runs.forgeItems.get(`${runId}#forge`)

beforeEach(() => {
  wall = new Wall()
  ports = make(wall)
})

describe('telling', () => {
  it('looks before it makes, mends what says something else, and leaves alone what does not', async () => {
    const { run, state } = await aRun(ports)
    await tellIt(run.runId)
    expect(wall.calls).toEqual(['find check', 'create check', 'find comment', 'create comment'])
    wall.calls.length = 0
    await tellIt(run.runId)
    expect(wall.calls).toEqual([])
    await tellIt(run.runId, true)
    expect(wall.calls).toEqual(['update check id-of-check', 'update comment id-of-comment'])
    // What was once seen at work does not go back into the queue.
    wall.calls.length = 0
    await tellIt(run.runId)
    expect(wall.calls).toEqual([])
    await close(ports, { ...state, next: 'Close', verdict: { outcome: 'approved', reason: 'clean', by: null, error: null } })
    await tellIt(run.runId)
    expect([...wall.shown.values()]).toEqual(['ended approved', 'ended approved'])
    expect(wall.news.map(({ phase }) => phase)).toEqual(['queued', 'queued', 'running', 'running', 'ended'])
  })

  it('finds again what was made and not recorded, and brings it in line', async () => {
    const { run } = await aRun(ports)
    wall.shown.set('check', 'of a worker that died')
    await tellIt(run.runId)
    expect(wall.calls.slice(0, 2)).toEqual(['find check', 'update check id-of-check'])
    expect(wall.shown.get('check')).toBe('queued null')
  })

  it('says nothing of a repository whose forge takes branches alone', async () => {
    const { run } = await aRun(ports, { repository: 'https://elsewhere.example/team/project' })
    await tellIt(run.runId)
    expect([wall.calls, item(run.runId)]).toEqual([[], undefined])
    ports = make(null)
    const other = await aRun(ports)
    await tellIt(other.run.runId)
    await tellAside(ports, { runId: other.run.runId, begun: true }, invocationOf(ports))
    expect(item(other.run.runId)).toBeUndefined()
  })

  it('knows no run that is not there', async () => {
    expect(await failure(tellIt('r-00000000000000ff'))).toMatchObject({ name: 'RunNotFound' })
  })

  it('tells a parked run with its question, and the answer once it is there', async () => {
    const { run, state } = await aRun(ports)
    const parked = await afterReview(ports, state, { findings: [aFinding()] })
    await park(ports, parked, 'token')
    await tellIt(run.runId)
    expect(wall.news.at(-1)).toMatchObject({ phase: 'parked', question: { id: 'q1', open: 1 }, decision: null, commit: HEAD, pushed: null })
    await decideRun(ports, run.runId, { answer: { kind: 'fix', findings: ['f-0000000001'], decline: [], notes: {}, add: [] }, by: 'ada' })
    await decide(ports, { ...parked, next: 'Decide' })
    await tellIt(run.runId)
    expect(wall.news.at(-1)).toMatchObject({ phase: 'running', decision: { by: 'ada' } })
    // A token that wakes a run is nobody's business outside.
    expect(JSON.stringify(wall.news)).not.toContain('"token"')
  })
})

describe('what the forge will not take', () => {
  it('is recorded, and the rest is told', async () => {
    const { run } = await aRun(ports)
    wall.before = (call) => {
      if (call === 'create check') throw new LoopError('ForgeRefused', 'no permission checks, says ghp_aaaaaaaaaaaaaaaaaaaaaaaaaaaa')
    }
    await tellIt(run.runId)
    expect(wall.calls).toContain('create comment')
    expect(item(run.runId)?.refused).toMatchObject({
      check: { error: 'ForgeRefused', message: 'no permission checks, says [redacted:github-token]' },
    })
    expect(viewOf(run, [], item(run.runId) ?? null).forge).toMatchObject({
      pieces: [{ piece: 'comment', id: 'id-of-comment', url: null }],
      refused: [{ piece: 'check', error: 'ForgeRefused' }],
    })
    wall.before = () => {}
    await tellIt(run.runId)
    expect(item(run.runId)).toMatchObject({ refused: {}, pieces: { check: { id: 'id-of-check' } }, busy: null })
  })

  it('is all of it, where the forge cannot be spoken to at all', async () => {
    const { run } = await aRun(ports)
    wall.tell = async () => {
      throw new LoopError('ForgeRefused', 'the App is not installed')
    }
    await tellIt(run.runId)
    expect(item(run.runId)).toMatchObject({ busy: null, refused: { forge: { message: 'the App is not installed' } } })
  })

  it('is tried again where that may help, by whoever asked', async () => {
    const { run } = await aRun(ports)
    wall.before = (call) => {
      if (call === 'create comment') throw new LoopError('ForgeUnavailable', 'answered 502')
    }
    expect(await failure(tellIt(run.runId))).toMatchObject({ name: 'ForgeUnavailable' })
    expect(item(run.runId)).toMatchObject({ busy: null, refused: {}, pieces: { check: {} } })
    await tellAside(ports, { runId: run.runId, begun: true }, invocationOf(ports))
    wall.before = () => {}
    wall.calls.length = 0
    await tellIt(run.runId)
    expect(wall.calls).toEqual(['find comment', 'create comment'])
  })

  it('fails no run', async () => {
    const { run } = await aRun(ports)
    wall.tell = async () => {
      throw new Error('a fault of ours')
    }
    await tellAside(ports, { runId: run.runId, begun: true }, invocationOf(ports))
    expect(item(run.runId)?.refused['forge']).toMatchObject({ error: 'Unexpected' })
    await tellAside(ports, { runId: 'r-00000000000000ff', begun: true }, invocationOf(ports))
    // No time is left to begin in.
    wall.news.length = 0
    await tellAside(ports, { runId: run.runId, begun: true }, { deadline: ports.effects.now() + 1000, signal: AbortSignal.timeout(1000) })
    expect(wall.news).toEqual([])
  })
})

describe('two that tell at once', () => {
  it('do not: the second is to come again', async () => {
    const { run } = await aRun(ports)
    let second: LoopError | null = null
    wall.after = async (call) => {
      if (call === 'create check') second = await failure(tellIt(run.runId))
    }
    await tellIt(run.runId)
    expect(second).toMatchObject({ name: 'StoreConflict' })
    expect(wall.calls.filter((call) => call.startsWith('create'))).toEqual(['create check', 'create comment'])
  })

  it('a worker that is gone is not waited for past its lease, and one of another process not at all', async () => {
    const { run } = await aRun(ports)
    const dies = (after: string) => {
      wall.after = (call) => {
        if (call === after) throw new LoopError('ForgeUnavailable', 'killed')
      }
    }
    const write = ports.runs.forges.write.bind(ports.runs.forges)
    dies('create check')
    ports.runs.forges.write = async (key, next) => (next.busy === null ? false : write(key, next))
    expect(await failure(tellIt(run.runId))).toMatchObject({ name: 'ForgeUnavailable' })
    ports.runs.forges.write = write
    wall.after = () => {}
    expect(await failure(tellIt(run.runId))).toMatchObject({ name: 'StoreConflict' })
    // Shorter than the two waits of an asynchronous call of Lambda's together.
    ports.effects.advance(179_000)
    await tellIt(run.runId)
    expect(wall.calls.filter((call) => call.startsWith('create'))).toEqual(['create check', 'create comment'])
  })

  it('a worker whose lease was over records nothing more', async () => {
    const { run } = await aRun(ports)
    wall.after = async (call) => {
      if (call !== 'create check') return
      wall.after = () => {}
      ports.effects.advance(200_000)
      await tellIt(run.runId)
    }
    expect(await failure(tellIt(run.runId))).toMatchObject({ name: 'StoreConflict' })
    expect(wall.calls).toEqual(['find check', 'create check', 'find check', 'update check id-of-check', 'find comment', 'create comment'])
  })

  it('makes nothing twice where the answer of a record was lost', async () => {
    const lost: string[] = []
    const runs = memoryRuns({
      after: (operation, key) => {
        if (operation !== 'write' || !key.endsWith('#forge') || lost.push(key) > 6) return
        throw new LoopError('StoreUnavailable', 'no answer')
      },
    })
    const broken = makePorts({ teller: wall, runs })
    const { run } = await aRun(broken)
    for (let tries = 0; tries < 8; tries++) {
      await failure(tell(broken, { runId: run.runId }, invocationOf(broken)))
      broken.effects.advance(200_000)
    }
    expect(runs.forgeItems.get(`${run.runId}#forge`)).toMatchObject({ pieces: { check: {}, comment: {} }, busy: null })
    expect(wall.calls.filter((call) => call.startsWith('create'))).toEqual(['create check', 'create comment'])
  })
})

describe('what is announced', () => {
  it('start, question, decision to go on, failure and end; the same again only where it was done again', async () => {
    const { run, state } = await aRun(ports)
    await aRun(ports)
    const parked = await afterReview(ports, state, { findings: [aFinding()] })
    await park(ports, parked, 'token')
    await decideRun(ports, run.runId, { answer: { kind: 'fix', findings: ['f-0000000001'], decline: [], notes: {}, add: [] }, by: 'ada' })
    const going = await decide(ports, { ...parked, next: 'Decide' })
    const failed = await recordFailure(ports, { ...going, error: { Error: 'AgentFailed', Cause: 'why' } })
    await close(ports, failed)
    expect(ports.announced).toEqual([run.runId, run.runId, `${run.runId}+`, run.runId, run.runId])
  })
})
