/** GitHub misbehaves, at every request in turn, and the worker that tells dies after every one: what is told in the end is told once. */
import { beforeAll, describe, expect, it } from 'vitest'
import { asLoopError, LoopError } from '../../lib/loop/errors.ts'
import { memoryRuns } from '../support/memory-store.ts'
import { findingAt, finds, fixes, githubLoop, type GithubLoop } from '../support/github/loop.ts'
import { type Fault, type GithubMock, refused, startGithub } from '../support/github/mock.ts'
import { type GithubState, invalid } from '../support/github/state.ts'
import { HEAD } from '../support/ports.ts'

const FILES = { 'a.js': 'one\nbad\nthree\n' }

const ended = async () => {
  await using github = await startGithub()
  const loop = githubLoop(github, { files: FILES })
  const { run, state } = await loop.start()
  finds(loop, findingAt(2), findingAt(3, { severity: 'info', action: 'no-op', rule: 'note' }))
  fixes(loop, 'one\ngood\nthree\n')
  await loop.drive(state, 'Done')
  return { runId: run.runId, ports: loop.ports, branches: github.state.branches }
}
let done: Awaited<ReturnType<typeof ended>> | null = null

/** A run that shows everything that can be shown: a fix, a finding that stays, pull requests for both. */
const scene = async (use: (github: GithubMock, loop: GithubLoop, runId: string) => Promise<void>, runs = memoryRuns()): Promise<void> => {
  await using github = await startGithub()
  const loop = githubLoop(github, { repository: { publish: 'pull-request' }, files: FILES, runs })
  github.state.addPull({ head: 'feature', sha: HEAD })
  done ??= await ended()
  // The run is played once; each scene begins from a copy of what it left.
  const { runId, ports, branches } = done
  for (const [key, item] of ports.runs.runItems) runs.runItems.set(key, structuredClone(item))
  for (const [key, item] of ports.sessions.items) loop.ports.sessions.items.set(key, structuredClone(item))
  for (const [key, bytes] of ports.artifacts.objects) loop.ports.artifacts.objects.set(key, bytes)
  for (const [name, branch] of branches) github.state.branches.set(name, branch)
  await use(github, loop, runId)
  expect(github.complaints).toEqual([])
}

/** All that people can see, whatever ids it has. */
const seen = ({ checks, comments, reviews, pulls, scans }: GithubState) => ({
  checks: checks
    .map(({ head_sha, status, conclusion, annotations }) => [head_sha, status, conclusion, annotations.length].join(' '))
    .toSorted(),
  comments: comments.map(({ issue, body }) => [issue, body]),
  reviews: reviews.map((review) => [review.commit_id, review.body, review.comments]),
  pulls: pulls.map(({ title, body, head, base }) => [title, body, head.ref, base.ref]),
  scans: [...scans.keys()],
})

const told = async (loop: GithubLoop, runId: string): Promise<LoopError | null> => loop.tell(runId).then(() => null, asLoopError)

/** As Lambda calls again: until it is told without a fault, or three times. */
const toldAtLast = async (loop: GithubLoop, runId: string): Promise<(LoopError | null)[]> => {
  const outcomes: (LoopError | null)[] = []
  for (let tries = 0; tries < 3; tries++) {
    outcomes.push(await told(loop, runId))
    loop.ports.effects.advance(180_000)
    if (outcomes.at(-1) === null && !Object.keys(loop.item(runId)?.refused ?? {}).length) break
  }
  return outcomes
}

let expected: ReturnType<typeof seen>
let calls: string[]
beforeAll(async () => {
  await scene(async (github, loop, runId) => {
    await loop.tell(runId)
    expected = seen(github.state)
    calls = [...github.calls]
  })
})

const message = (status: number, text: string, headers: Record<string, string> = {}): Fault => ({
  status,
  body: { message: text, documentation_url: 'https://docs.github.com' },
  headers,
})
const FAULTS: Record<string, () => Fault> = {
  'a refusal (403)': () => refused(),
  'not found (404)': () => ({ status: 404, body: { message: 'Not Found', documentation_url: 'https://docs.github.com', status: '404' } }),
  'not understood (422)': () => invalid('Validation Failed'),
  'asked too often (429)': () => message(429, 'slow down', { 'retry-after': '2' }),
  'a bad gateway (502)': () => message(502, 'Bad Gateway'),
  'taken, and never answered': () => 'lost',
  'not taken, and never answered': () => 'dropped',
}

describe('the scene', () => {
  it('shows everything', () => {
    expect(expected).toMatchObject({
      checks: expect.arrayContaining([
        expect.stringMatching(/^[0-9a-f]{40} completed success 1$/),
        `${HEAD} completed action_required 0`,
      ]) as string[],
      comments: [[1, expect.stringContaining('#2')]],
      reviews: [[HEAD, expect.anything(), [{ line: 3 }, { line: 2, body: expect.stringContaining('```suggestion\ngood\n```') as string }]]],
      pulls: [expect.anything(), ['reviewloop: fixes for feature', expect.anything(), expect.anything(), 'feature']],
      scans: [expect.stringContaining('refs/heads/reviewloop/')],
    })
    expect(calls.length).toBeGreaterThan(15)
  })
})

describe('case 30: at any request, once, the forge answers with', () => {
  it.each(Object.entries(FAULTS))('%s: all is told in the end, and once', async (name, fault) => {
    for (const at of calls.keys()) {
      await scene(async (github, loop, runId) => {
        github.fault = () => (github.calls.length === at ? fault() : null)
        const outcomes = await toldAtLast(loop, runId)
        expect([at, calls[at], outcomes.at(-1), loop.item(runId)?.refused]).toEqual([at, calls[at], null, {}])
        // A review that is not understood for its lines is written without them: they stand in its text.
        const isPlain = name.includes('422') && calls[at]?.startsWith('POST') && calls[at].endsWith('/reviews')
        const reviews = isPlain
          ? [[HEAD, expect.stringMatching(/```text\ngood\n```[^]*reviewloop:review/) as string, []]]
          : expected.reviews
        expect([calls[at], seen(github.state)]).toEqual([calls[at], { ...expected, reviews }])
      })
    }
  })
})

describe('case 30: always, at one kind of request, the forge answers with', () => {
  const routes = () => [...new Set(calls)].filter((route) => !route.includes('installation'))

  it.each([
    ['a refusal (403)', 'ForgeRefused'],
    ['not found (404)', 'ForgeRefused'],
    ['not understood (422)', 'ForgeInvalid'],
  ])('%s: it is recorded, everything else is told, and nobody fails', async (name, row) => {
    for (const route of routes()) {
      await scene(async (github, loop, runId) => {
        github.fault = (asked) => (asked === route ? (FAULTS[name]?.() ?? null) : null)
        expect([route, await told(loop, runId)]).toEqual([route, null])
        const errors = Object.values(loop.item(runId)?.refused ?? {}).map(({ error }) => error)
        expect([route, new Set(errors)]).toEqual([route, new Set([row])])
        expect(loop.item(runId)?.busy).toBeNull()
        // Two pieces are checks; without the list of pull requests nothing stands on one.
        expect(errors.length).toBeLessThan(4)
      })
    }
  })

  it.each(['a bad gateway (502)', 'not taken, and never answered'])(
    '%s: it is to be told again, and nothing is made twice',
    async (name) => {
      for (const route of routes()) {
        await scene(async (github, loop, runId) => {
          github.fault = (asked) => (asked === route ? (FAULTS[name]?.() ?? null) : null)
          expect([route, (await told(loop, runId))?.name]).toEqual([route, 'ForgeUnavailable'])
          expect(loop.slept.length).toBeGreaterThan(0)
          github.fault = () => null
          await loop.tell(runId)
          expect([route, seen(github.state)]).toEqual([route, expected])
        })
      }
    },
  )
})

describe('being asked for patience', () => {
  const patience = async (headers: Record<string, string>, status = 429) => {
    const result: { error: LoopError | null; slept: number[] }[] = []
    await scene(async (github, loop, runId) => {
      let first = true
      github.fault = (route) => {
        if (!route.startsWith('POST /repos/{owner}/{repo}/check-runs') || !first) return null
        first = false
        return message(status, 'slow down', headers)
      }
      result.push({ error: await told(loop, runId), slept: loop.slept })
    })
    return result[0]
  }

  it('lasts as long as the forge says', async () => {
    expect(await patience({ 'retry-after': '7' })).toEqual({ error: null, slept: [7000] })
    const reset = String(Math.ceil(Date.now() / 1000) + 20)
    const { error, slept } = (await patience({ 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': reset }, 403)) ?? { slept: [] }
    expect(error).toBeNull()
    expect(slept[0]).toBeGreaterThan(10_000)
    expect(slept[0]).toBeLessThanOrEqual(21_000)
  })

  it('has an end in a function: what takes longer is told later', async () => {
    expect(await patience({ 'retry-after': '3600' })).toMatchObject({ error: { name: 'ForgeThrottled' }, slept: [] })
    expect(await patience({})).toMatchObject({ error: { name: 'ForgeThrottled', details: { seconds: 60 } }, slept: [] })
    expect(await patience({ 'retry-after': 'soon' })).toMatchObject({ error: { name: 'ForgeThrottled' }, slept: [] })
  })
})

describe('a worker that dies', () => {
  it('after any request, whether it was told of the answer or not: whoever goes on makes nothing twice', async () => {
    for (const last of ['lost', null] as const)
      for (const at of calls.keys()) {
        const life = { dead: false }
        const runs = memoryRuns({
          before: (operation, key) => {
            if (life.dead && operation === 'write' && key.endsWith('#forge')) throw new LoopError('StoreUnavailable', 'dead')
          },
        })
        await scene(async (github, loop, runId) => {
          github.fault = () => {
            if (life.dead) return 'dropped'
            life.dead = github.calls.length === at
            return life.dead ? last : null
          }
          await told(loop, runId)
          life.dead = false
          github.fault = () => null
          loop.ports.effects.advance(180_000)
          expect(await told(loop, runId)).toBeNull()
          expect([at, last, seen(github.state)]).toEqual([at, last, expected])
        }, runs)
      }
  })

  it('before or after any of its records: the same', async () => {
    for (const when of ['before', 'after'] as const)
      for (let at = 0; at < 9; at++) {
        const life = { count: -1 }
        const dies = (operation: string, key: string) => {
          if (life.count < 0 || operation !== 'write' || !key.endsWith('#forge')) return
          if (life.count++ >= at) throw new LoopError('StoreUnavailable', 'dead')
        }
        await scene(
          async (github, loop, runId) => {
            life.count = 0
            await told(loop, runId)
            life.count = -1
            loop.ports.effects.advance(180_000)
            expect(await told(loop, runId)).toBeNull()
            expect([when, at, seen(github.state)]).toEqual([when, at, expected])
          },
          memoryRuns({ [when]: dies }),
        )
      }
  })
})
