/** The embedded loop in process: the real adapters, the real machine, and two that look at one run. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openDataFolder, type DataFolder } from '../../lib/local/data-folder.ts'
import { follow, type Asking } from '../../lib/local/follow.ts'
import { openLoop, type LocalLoop } from '../../lib/local/local-loop.ts'
import { abortRun } from '../../lib/loop/end-run.ts'
import { decideRun } from '../../lib/loop/decide.ts'
import { resumeRun } from '../../lib/loop/resume.ts'
import { startRun } from '../../lib/loop/start.ts'
import type { RunRequest } from '../../lib/loop/run.ts'
import { asksOnce, makeCli, twoRounds, type Cli } from '../support/cli.ts'
import { makeChange, type TestRepository } from '../support/git-repository.ts'

let scratch: string
let cli: Cli
let repository: TestRepository
let request: RunRequest
const folders: DataFolder[] = []
const loops: LocalLoop[] = []

const open = async (turns: Record<number, unknown>, waits: boolean): Promise<LocalLoop> => {
  const folder = await openDataFolder(join(scratch, 'data'))
  folders.push(folder)
  const loop = await openLoop(folder, { waits, scenario: await cli.scenario(turns), agents: ['scripted'] })
  loops.push(loop)
  return loop
}
const begin = async (loop: LocalLoop): Promise<string> =>
  (await startRun(loop.ports, { request, startedBy: 'cli', checkHead: true })).run.runId

beforeEach(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'reviewloop-engine-'))
  cli = await makeCli()
  const change = await makeChange({ 'a.txt': 'one\n' }, { 'a.txt': 'one\nbad\n' })
  repository = change.repository
  request = {
    repository: repository.path,
    branch: 'change',
    base: change.base,
    head: change.head,
    overrides: {},
    attempt: 1,
    publishTo: null,
  }
})
afterEach(async () => {
  for (const loop of loops.splice(0).reverse()) {
    await loop.engine.interrupt()
    loop.close()
  }
  for (const folder of folders.splice(0).reverse()) await folder.close()
  await cli.close()
  await repository.close()
  await rm(scratch, { recursive: true, force: true })
})

/** A person at the terminal: says that it was asked, and answers when it is told to. */
const someone = (answer: Promise<Awaited<ReturnType<Asking['ask']>>>) => {
  const asked = Promise.withResolvers<AbortSignal>()
  const told: string[] = []
  const asking: Asking = {
    by: 'ada',
    tell: (message) => told.push(message),
    ask: async (_run, signal) => {
      asked.resolve(signal)
      const over = new Promise<null>((resolve) => signal.addEventListener('abort', () => resolve(null)))
      return Promise.race([answer, over])
    },
  }
  return { asking, asked: asked.promise, told }
}
const never = new Promise<null>(() => {})

describe('a run that asks while somebody is there', () => {
  test('goes on with the answer, in the same execution', async () => {
    const loop = await open(asksOnce(), true)
    const { asking } = someone(
      Promise.resolve({
        kind: 'fix',
        findings: [],
        decline: [],
        notes: {},
        add: [{ rule: 'r', severity: 'error', action: 'auto-fix', file: 'a.txt', text: 't' }],
      }),
    )
    const id = await begin(loop)
    const run = await follow(loop, id, asking)
    expect(run).toMatchObject({ status: 'ended', epoch: 1, verdict: { outcome: 'approved' }, decision: { by: 'ada' } })
  })
  test('notices that another process has answered: the question is taken back and the run goes on here', async () => {
    const owner = await open(asksOnce(), true)
    const guest = await open(asksOnce(), false)
    expect([owner.folder.owned, guest.folder.owned]).toEqual([true, false])
    const { asking, asked, told } = someone(never)
    const id = await begin(owner)
    const followed = follow(owner, id, asking)
    const signal = await asked
    await decideRun(guest.ports, id, { answer: { kind: 'skip' }, by: 'grace' })
    expect(await followed).toMatchObject({ status: 'ended', verdict: { outcome: 'changes-requested', reason: 'skipped' } })
    expect(signal.aborted).toBe(true)
    expect(told).toEqual(['Answered elsewhere, by grace: skip.'])
  })
  test('may be left parked, and another process takes it up', async () => {
    const loop = await open(asksOnce(), true)
    const id = await begin(loop)
    expect(await follow(loop, id, someone(Promise.resolve(null)).asking)).toMatchObject({ status: 'parked', decision: null })
    loop.close()
    await loop.folder.close()
    const next = await open(asksOnce(), false)
    expect(next.folder.owned).toBe(true)
    await decideRun(next.ports, id, { answer: { kind: 'approve' }, by: 'grace' })
    await resumeRun(next.ports, id)
    expect(await follow(next, id, null)).toMatchObject({ status: 'ended', epoch: 2, verdict: { outcome: 'approved', by: 'grace' } })
  })
  test('an answer that does not fit is said to be so, and it asks again', async () => {
    const loop = await open(asksOnce(), true)
    const answers = [{ kind: 'fix' as const, findings: ['f-0000000000'], decline: [], notes: {}, add: [] }, { kind: 'approve' as const }]
    const told: string[] = []
    const asking: Asking = { by: 'ada', tell: (message) => told.push(message), ask: async () => answers.shift() ?? null }
    const id = await begin(loop)
    expect(await follow(loop, id, asking)).toMatchObject({ verdict: { reason: 'by-person' } })
    expect(told[0]).toContain('f-0000000000')
  })
})

test('a run that another process ends is let go of in the middle of its turn', async () => {
  const owner = await open(twoRounds({ 1: { delay_ms: 60_000 } }), false)
  const guest = await open(twoRounds(), false)
  const id = await begin(owner)
  const followed = follow(owner, id, null)
  await abortRun(guest.ports, id, 'grace')
  expect(await follow(guest, id, null)).toMatchObject({ status: 'ended', verdict: { outcome: 'aborted', by: 'grace' } })
  expect(await followed).toMatchObject({ status: 'ended', verdict: { outcome: 'aborted' } })
})

test('an interrupted run goes on in this process as well: nothing waits for the lease', async () => {
  const first = await open(twoRounds({ 3: { delay_ms: 60_000 } }), false)
  const id = await begin(first)
  const followed = follow(first, id, null).catch((error: unknown) => error)
  while ((await first.ports.sessions.read({ runId: id, role: 'reviewer' }))?.running?.turn !== 3)
    await new Promise((resolve) => setTimeout(resolve, 50))
  await first.engine.interrupt()
  expect(await followed).toMatchObject({ name: 'Interrupted' })
  expect((await first.ports.sessions.read({ runId: id, role: 'reviewer' }))?.running?.leaseUntil).toBe(0)
  first.close()
  await first.folder.close()
  const next = await open(twoRounds(), false)
  await resumeRun(next.ports, id)
  expect(await follow(next, id, null)).toMatchObject({ status: 'ended', verdict: { outcome: 'approved' } })
})

test('the name of an execution is used once in a data folder: starting the same request again starts nothing', async () => {
  const first = await open(twoRounds({ 1: { delay_ms: 60_000 } }), false)
  const id = await begin(first)
  expect(first.engine.names()).toEqual([`${id}-1`])
  await first.engine.interrupt()
  first.close()
  await first.folder.close()
  const next = await open(twoRounds(), false)
  const again = await startRun(next.ports, { request, startedBy: 'cli', checkHead: true })
  expect(again).toMatchObject({ started: false, run: { runId: id, status: 'running' } })
  expect(next.engine.names()).toEqual([])
})
