/** Many starts at once, by every door, on real tables: who wins, who is shown whose run, and what is left going on. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { handler as startHandler } from '../../functions/start/handler.ts'
import { handler as webhookHandler } from '../../functions/webhook/handler.ts'
import { deployment } from '../../lib/loop/deployment.ts'
import { startFromDoor } from '../../lib/loop/door.ts'
import type { RunItem } from '../../lib/loop/items.ts'
import { branchKeyOf } from '../../lib/loop/run-id.ts'
import { startRun } from '../../lib/loop/start.ts'
import { executionName } from '../../lib/names.ts'
import { driveUntil } from '../support/drive.ts'
import { apiEvent } from '../support/http.ts'
import { BASE, makePorts, stateOf } from '../support/ports.ts'
import { requestOf } from '../support/runs.ts'
import { startTables, type Tables } from '../support/tables.ts'
import { deliveryOf, FakePulls, GITHUB, githubRepository, HOOK_SECRET_TEXT, pullRequestOf } from '../support/webhooks.ts'

let tables: Tables
beforeAll(async () => {
  tables = await startTables()
})
afterAll(() => tables.close())

const BRANCHES = ['one', 'two']
const headOf = (branch: string, at: number): string => `${BRANCHES.indexOf(branch) + 1}${at}`.padEnd(40, 'e')

/** Functions that share nothing but the tables, the forge and the machine. */
const setUp = () => {
  const heads = new Map(BRANCHES.map((branch) => [branch, 0]))
  const shared = makePorts({
    deployment: deployment.parse({
      repositories: [{ url: GITHUB.url, ...githubRepository, triggers: { webhook: true, schedule: { branch: 'one' } } }],
    }),
    sessions: tables.sessions,
    runs: tables.runs,
  })
  shared.forge.branchHead = async (_repository, branch) => (heads.has(branch) ? headOf(branch, heads.get(branch) ?? 0) : BASE)
  const worker = () => ({ ...shared, ...tables.another(), pulls: new FakePulls() })
  const callers = async () => ({ name: 'somebody', job: null })
  const doors: ((branch: string) => Promise<unknown>)[] = [
    (branch) => startHandler(worker(), callers)(apiEvent('POST /runs', { body: { repository: GITHUB.url, branch } })),
    // The clock starts the one branch that it is set for.
    () => startHandler(worker(), callers)({ schedule: { repository: GITHUB.url } }),
    (branch) => {
      const head = { ref: branch, sha: headOf(branch, heads.get(branch) ?? 0) }
      return webhookHandler(worker(), async () => [HOOK_SECRET_TEXT])(deliveryOf('pull_request', pullRequestOf('synchronize', { head })))
    },
    (branch) => startFromDoor(worker(), { body: { repository: GITHUB.url, branch, again: false }, startedBy: 'job' }),
  ]
  const move = () => BRANCHES.forEach((branch) => heads.set(branch, (heads.get(branch) ?? 0) + 1))
  return { shared, doors, heads, move }
}

const lockOf = (branch: string) => tables.runs.branches.read(branchKeyOf(GITHUB.url, branch))

describe('a hundred starts at once, by the API, webhooks, the schedule and a job', () => {
  let world: ReturnType<typeof setUp>
  let runs: RunItem[]
  beforeAll(async () => {
    world = setUp()
    const { doors, move } = world
    const starts: Promise<unknown>[] = []
    const start = async (at: number): Promise<void> => {
      const door = doors[Math.floor(at / 2) % doors.length]
      await door?.(BRANCHES[at % 2] ?? '').catch((error: unknown) => {
        if (!(error instanceof Error && error.name === 'NotTheBranchHead')) throw error
      })
    }
    // The branches move while starts of the heads before are still under way.
    for (let wave = 0; wave < 4; wave++) {
      if (wave > 0) move()
      const begun = Array.from({ length: 25 }, (_, at) => start(wave * 25 + at))
      starts.push(...begun)
      if (wave < 3) await Promise.race(begun)
    }
    await Promise.all(starts)
    runs = await tables.runs.list()
  })

  it('leave one run going on a branch, and it is that of the head that the branch has', async () => {
    for (const branch of BRANCHES) {
      const going = runs.filter((run) => run.request.branch === branch && run.verdict === null)
      expect(going.map(({ request }) => request.head)).toEqual([headOf(branch, world.heads.get(branch) ?? 0)])
      expect(await lockOf(branch)).toMatchObject({ active: going[0]?.runId, begun: true })
    }
  })

  it('case 13, case 14: are one run a head, whoever asks', () => {
    // Two that begin to start one head with different wishes may both leave an item; one of the two gives way before it is begun.
    const named = new Set(world.shared.executions.started.map(({ name }) => name))
    const begun = runs.filter(({ runId }) => named.has(executionName(runId, 1))).map(({ request }) => request.head)
    expect(new Set(begun).size).toBe(begun.length)
    expect(begun.length).toBeGreaterThan(1)
  })

  it('begin each run once; those that lost their branch are ended by an execution that only closes', () => {
    const named = world.shared.executions.started.map(({ name }) => name)
    expect(new Set(named).size).toBe(named.length)
    for (const { runId, verdict } of runs) {
      expect(verdict === null || verdict.outcome === 'superseded').toBe(true)
      if (verdict === null) expect(named).toContain(executionName(runId, 1))
    }
    const later = world.shared.executions.started.filter(({ name }) => !name.endsWith('-1'))
    expect(later.every(({ input }) => input.next === 'Close')).toBe(true)
  })
})

describe('a start', () => {
  it('that was slow does not take the branch from one that saw a newer head', async () => {
    const ports = makePorts()
    const { branchHead } = ports.forge
    const asked = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const older = requestOf()
    const newer = requestOf({ head: 'c'.repeat(40) })
    // The older start has read the lock, and stands before the forge, while the newer one comes and goes.
    const slow = startRun(
      {
        ...ports,
        forge: {
          branchHead: async (...args) => {
            asked.resolve()
            await goOn.promise
            return branchHead(...args)
          },
        },
      },
      { request: older, startedBy: 'a', checkHead: true },
    )
    await asked.promise
    ports.forge.head = newer.head
    const { run } = await startRun(ports, { request: newer, startedBy: 'b', checkHead: true })
    goOn.resolve()
    await expect(slow).rejects.toMatchObject({ name: 'NotTheBranchHead' })
    expect([...ports.runs.branchItems.values()][0]?.active).toBe(run.runId)
    expect(ports.runs.runItems.get(run.runId)?.verdict).toBeNull()
  })

  it('of a head that another start is just beginning, with other wishes, is shown that run and does not end it', async () => {
    const ports = makePorts()
    const { runs } = ports.runs
    const locked = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    // The first has the lock, and its run item is not there yet when the second looks for it.
    const write = async (key: string, item: RunItem) => {
      locked.resolve()
      await goOn.promise
      return runs.write(key, item)
    }
    const first = startRun(
      { ...ports, runs: { ...ports.runs, runs: { ...runs, write } } },
      { request: requestOf(), startedBy: 'a', checkHead: true },
    )
    await locked.promise
    const branchHead = async () => {
      goOn.resolve()
      await first
      return ports.forge.head
    }
    const unattended = requestOf({ overrides: { ask: 'never' } })
    const second = await startRun({ ...ports, forge: { branchHead } }, { request: unattended, startedBy: 'b', checkHead: true })
    const { run } = await first
    expect(second).toMatchObject({ started: false, run: { runId: run.runId, verdict: null } })
    expect(ports.executions.started.map(({ name }) => name)).toEqual([executionName(run.runId, 1)])
  })

  it('that lost the branch to another of the same head, with other wishes, shows the run of that', async () => {
    const ports = makePorts()
    const { runs } = ports.runs
    const locked = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const write = async (key: string, item: RunItem) => {
      locked.resolve()
      await goOn.promise
      return runs.write(key, item)
    }
    const first = startRun(
      { ...ports, runs: { ...ports.runs, runs: { ...runs, write } } },
      { request: requestOf(), startedBy: 'a', checkHead: true },
    )
    await locked.promise
    const unattended = requestOf({ overrides: { ask: 'never' } })
    const second = await startRun(ports, { request: unattended, startedBy: 'b', checkHead: true })
    goOn.resolve()
    expect(second.started).toBe(true)
    expect(await first).toMatchObject({ started: false, run: { runId: second.run.runId, verdict: null } })
    expect(ports.executions.started.map(({ name }) => name)).toContain(executionName(second.run.runId, 1))
  })

  it('case 14: on a branch whose run waits for an answer is shown that run, which holds no function', async () => {
    const ports = makePorts()
    const found = { rule: 'odd', severity: 'error' as const, action: 'ask-user' as const, file: 'a.js', line: 2, text: 'odd' }
    ports.agent.script.push(ports.agent.done({ findings: [found], accounts: [], skipped: [], summary: '' }))
    const { run } = await startRun(ports, { request: requestOf(), startedBy: 'ada', checkHead: true })
    await driveUntil(ports, stateOf({ runId: run.runId, next: 'Prepare' }), 'Decide')
    // Park has returned: the execution waits under its token, and nobody works.
    expect(ports.runs.runItems.get(run.runId)).toMatchObject({ status: 'parked', token: 'token' })
    const unattended = requestOf({ overrides: { ask: 'never' } })
    const scheduled = await startRun(ports, { request: unattended, startedBy: 'schedule', checkHead: true })
    expect(scheduled).toMatchObject({ started: false, run: { runId: run.runId, status: 'parked' } })
    ports.forge.head = 'c'.repeat(40)
    const newer = await startRun(ports, { request: requestOf({ head: ports.forge.head }), startedBy: 'webhook', checkHead: true })
    expect(newer.started).toBe(true)
    expect(ports.runs.runItems.get(run.runId)).toMatchObject({ token: null, verdict: { outcome: 'superseded' } })
  })
})
