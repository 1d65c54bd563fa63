/** Whatever is asked for at a door: a run, or an error of the catalogue, and then nothing was stored. */
import * as fc from 'fast-check'
import { expect, test, vi } from 'vitest'
import { startFromDoor } from '../../lib/loop/door.ts'
import { startBody } from '../../lib/loop/requests.ts'
import { isErrorName, LoopError } from '../../lib/loop/errors.ts'
import { runRequest, runState, type RunRequest } from '../../lib/loop/run.ts'
import { branchKeyOf, normaliseRepository, runIdOf } from '../../lib/loop/run-id.ts'
import { startRun } from '../../lib/loop/start.ts'
import { parseState } from '../../lib/runtime/event.ts'
import { answering, json, readBody, readRequest } from '../../lib/runtime/http.ts'
import { branchRef, parseAddress } from '../../lib/workspace/address.ts'
import { scaled } from '../support/hostile.ts'
import { BASE, deploymentOf, HEAD, makePorts, stateOf } from '../support/ports.ts'
import { requestOf } from '../support/runs.ts'

// A guard against hanging, and nothing else.
vi.setConfig({ testTimeout: 600_000 })

const long = 'x'.repeat(100_000)
const word = fc.oneof(
  fc.constantFrom('', 'main', '-x', '--upload-pack=x', 'a b', 'a..b', 'a.lock', '.a', 'a\0b', 'ü', '@', 'a@{1}', '$(id)', '../x', long),
  fc.string({ maxLength: 20 }),
)
const address = fc.oneof(
  fc.constantFrom(
    'https://host/x',
    '/path/x',
    'x',
    'https://',
    'http://host/x',
    'https://u:p@host/x',
    'ssh://host/x',
    'ext::sh',
    'file:///x',
    'https://host/x?a=b',
    long,
  ),
  fc.webUrl({ withQueryParameters: true, withFragments: true }),
  fc.string({ maxLength: 30 }),
)
const commit = fc.constantFrom(HEAD, BASE, 'HEAD', '', 'g'.repeat(40), HEAD.toUpperCase(), `${HEAD}\n`)
const overrides = fc.oneof(
  fc.constant({}),
  fc.record(
    { rounds: fc.integer({ min: -1, max: 12 }), ask: fc.constantFrom('never', 'maybe'), [long]: fc.constant(1) },
    { requiredKeys: [] },
  ),
  fc.anything({ maxDepth: 2 }),
)
const request = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record(
      {
        repository: address,
        branch: fc.option(word),
        base: commit,
        head: commit,
        overrides,
        attempt: fc.integer({ min: -1, max: 3 }),
        publishTo: fc.option(word),
      },
      { requiredKeys: ['repository', 'branch', 'base', 'head'] },
    ),
  },
  { weight: 4, arbitrary: fc.tuple(word, word).map(([branch, publishTo]) => ({ ...requestOf(), branch, publishTo })) },
  { weight: 1, arbitrary: fc.anything({ maxDepth: 3 }) },
)

const expectTyped = (error: unknown, ...names: string[]): void => {
  expect(error).toBeInstanceOf(LoopError)
  expect(names).toContain((error as LoopError).name)
  expect((error as LoopError).message.length).toBeLessThan(3000)
}
const caught = async (work: () => unknown): Promise<unknown> => {
  try {
    await work()
    return null
  } catch (error) {
    return error
  }
}

test('anything as a request starts a run, or is refused with nothing stored and nothing started', async () => {
  const seen = { started: 0, refused: 0 }
  await fc.assert(
    fc.asyncProperty(request, async (given) => {
      const ports = makePorts()
      const error = await caught(() => startRun(ports, { request: given as RunRequest, startedBy: 'test', checkHead: false }))
      seen[error === null ? 'started' : 'refused']++
      if (error === null) {
        expect(ports.executions.started).toHaveLength(1)
        return
      }
      expectTyped(error, 'BadRequest', 'BadSettings')
      expect([ports.runs.runItems.size, ports.runs.branchItems.size, ports.executions.started.length]).toEqual([0, 0, 0])
    }),
    { numRuns: scaled(600, 30_000) },
  )
  expect(Math.min(seen.started, seen.refused)).toBeGreaterThan(20)
})

test('no run that was started holds a credential in its address, or a branch that git would not take', () => {
  fc.assert(
    fc.property(request, (given) => {
      const parsed = runRequest.safeParse(given)
      if (!parsed.success) return
      const { repository, branch, publishTo } = parsed.data
      expect(/^[a-z][a-z0-9+.-]*:\/\/[^/]*@/i.test(repository)).toBe(false)
      for (const name of [branch, publishTo]) if (name !== null) expect(branchRef(name)).toBe(`refs/heads/${name}`)
      // One spelling for one repository, which is that of itself.
      expect(normaliseRepository(normaliseRepository(repository))).toBe(normaliseRepository(repository))
      const turned = Object.fromEntries(Object.entries(parsed.data).toReversed()) as RunRequest
      expect(runIdOf(turned, ['lint'])).toBe(runIdOf(parsed.data, ['lint']))
      expect(branchKeyOf(repository, 'x')).toMatch(/^branch#[0-9a-f]{32}$/)
    }),
    { numRuns: scaled(1000, 50_000) },
  )
})

test('anything as an address is one of three kinds, or BadRequest without what it holds of a credential', async () => {
  await fc.assert(
    fc.asyncProperty(address, async (given) => {
      const error = await caught(() => parseAddress(given))
      if (error === null) return
      expectTyped(error, 'BadRequest')
      expect((error as LoopError).message).not.toContain('u:p@')
    }),
    { numRuns: scaled(500, 30_000) },
  )
})

test('anything as the body of POST /runs gets an answer of the API', async () => {
  const deployment = deploymentOf('https://host/x')
  const body = fc.oneof(
    fc.json({ maxDepth: 3 }),
    fc.string({ maxLength: 60 }),
    fc.constantFrom('['.repeat(60_000), `{"a":${'['.repeat(30_000)}`, '"'.repeat(200_000), 'null', ''),
    fc
      .record(
        { repository: address, branch: word, base: word, head: commit, overrides, again: fc.boolean() },
        { requiredKeys: ['repository', 'branch'] },
      )
      .map((value) => JSON.stringify(value)),
  )
  await fc.assert(
    fc.asyncProperty(body, fc.boolean(), async (text, isBase64Encoded) => {
      const event = readRequest({ routeKey: 'POST /runs', requestContext: {}, body: text, isBase64Encoded })
      const answer = await answering(async () => {
        const given = readBody(startBody, event)
        const ports = makePorts({ deployment })
        const { run } = await startFromDoor(ports, { body: given, startedBy: 'test' })
        return json(202, { run: run.runId })
      })
      expect(answer.statusCode).not.toBe(500)
      expect(answer.body.length).toBeLessThan(5000)
      const parsed = JSON.parse(answer.body) as Record<string, unknown>
      expect(answer.statusCode === 202 ? typeof parsed['run'] === 'string' : isErrorName(String(parsed['title']))).toBe(true)
    }),
    { numRuns: scaled(400, 20_000) },
  )
})

test('anything as the state of an execution is a state, or BadRequest', async () => {
  const keys = fc.constantFrom(...Object.keys(runState.shape))
  const given = fc.oneof(
    fc.anything({ maxDepth: 3 }),
    fc.tuple(keys, fc.anything({ maxDepth: 2 })).map(([key, value]) => ({ ...stateOf(), [key]: value })),
  )
  await fc.assert(
    fc.asyncProperty(given, async (event) => {
      const error = await caught(() => parseState(event))
      if (error === null) expect(runState.safeParse(parseState(event)).success).toBe(true)
      else expectTyped(error, 'BadRequest')
    }),
    { numRuns: scaled(500, 30_000) },
  )
})
