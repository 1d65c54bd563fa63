/** Starting the night of a repository, and moving the mark of its branch. */
import { describe, expect, it } from 'vitest'
import { startFromApi } from '../../lib/loop/door.ts'
import { LoopError } from '../../lib/loop/errors.ts'
import type { NightItem } from '../../lib/loop/items.ts'
import { nightBranch, rememberNight, startNight } from '../../lib/loop/night.ts'
import type { Ports } from '../../lib/loop/ports.ts'
import { branchKeyOf } from '../../lib/loop/run-id.ts'
import type { Verdict } from '../../lib/loop/run.ts'
import { storeSource } from '../../lib/loop/source.ts'
import { memoryRuns } from '../support/memory-store.ts'
import { BASE, deploymentOf, HEAD, makePorts, policyOf, RUN_ID, runItemOf } from '../support/ports.ts'

const URL = 'https://git.example/team/project'
const KEY = branchKeyOf(URL, 'develop')
/** As the store in memory keeps it. */
const AT = `${KEY}#night`
const [OLD, TIP, NEW] = ['c', 'd', 'e'].map((digit) => digit.repeat(40)) as [string, string, string]
const schedule = { branch: 'develop', commits: 5, files: 6, bytes: 7000 }
const loop = (change: object = {}) => makePorts({ deployment: deploymentOf(URL, { triggers: { schedule }, ...change }) })
type Loop = ReturnType<typeof loop>

const markOf = (change: Partial<NightItem> = {}): NightItem => ({
  key: KEY,
  rev: 1,
  nonce: 'n',
  certified: OLD,
  tip: TIP,
  from: BASE,
  run: RUN_ID,
  ttl: 1_800_000_000,
  ...change,
})
const tonight = (ports: Ports, at?: string) => startNight(ports, { repository: `${URL}.git`, at })
const end = (ports: Loop, runId: string, outcome: Verdict['outcome']) => {
  const run = ports.runs.runItems.get(runId)
  if (!run) throw new Error('there is no such run')
  const verdict = { outcome, reason: 'failed', by: null, error: null } as const
  ports.runs.runItems.set(runId, { ...run, status: 'ended', verdict, closed: true })
}

describe('a night', () => {
  it('reviews what came since the mark, asks nobody, and has one branch for its fixes', async () => {
    const ports = loop()
    ports.runs.nightItems.set(AT, markOf())
    const { run, started } = await tonight(ports)
    expect(started).toBe(true)
    expect(run).toMatchObject({ startedBy: 'schedule' })
    expect(run?.request).toEqual({
      repository: URL,
      branch: 'develop',
      base: BASE,
      head: HEAD,
      overrides: { ask: 'never', certify: 'auto' },
      attempt: 1,
      publishTo: 'reviewloop/nightly-develop',
      night: { since: OLD, from: BASE, certifiedTip: TIP, isDefault: false, most: { commits: 5, files: 6, bytes: 7000 } },
    })
  })

  it('a first night begins with no mark; the default branch has its own tip as base', async () => {
    const ports = loop({ triggers: { schedule: { ...schedule, branch: 'main' } } })
    const { run } = await tonight(ports)
    expect(run?.request).toMatchObject({ base: BASE, head: BASE, night: { since: null, isDefault: true } })
  })

  it.each([
    ['the mark', { certified: HEAD }],
    ['the fixes of the last night, merged as they are', { tip: HEAD }],
  ])('nothing new since %s: no run, and it is said', async (_, mark) => {
    const ports = loop()
    ports.runs.nightItems.set(AT, markOf(mark))
    const night = await tonight(ports)
    expect(night).toEqual({ run: null, started: false, why: `Nothing is new on develop: ${HEAD.slice(0, 12)} is certified.` })
    expect(ports.runs.runItems.size).toBe(0)
    expect(ports.effects.logged.map(({ message }) => message)).toContain('no run this night')
  })

  it('case 13: delivered twice, at once or later, is one run', async () => {
    const ports = loop()
    const at = new Date(ports.effects.now()).toISOString()
    const nights = await Promise.all(Array.from({ length: 10 }, () => tonight(ports, at)))
    ports.effects.advance(3_600_000)
    nights.push(await tonight(ports, at))
    expect(new Set(nights.map(({ run }) => run?.runId)).size).toBe(1)
    expect(nights.filter(({ started }) => started)).toHaveLength(1)
    expect(ports.runs.runItems.size).toBe(1)
  })

  it('case 13: delivered again after the run of that night has failed, it is that run', async () => {
    const ports = loop()
    const at = new Date(ports.effects.now() - 1000).toISOString()
    const { run } = await tonight(ports, at)
    end(ports, run?.runId ?? '', 'failed')
    expect(await tonight(ports, at)).toMatchObject({ started: false, run: { runId: run?.runId } })
  })

  it.each([
    ['failed', true],
    ['aborted', true],
    ['superseded', true],
    ['changes-requested', false],
  ] as const)('the night after one that ended as %s, with nothing new, starts a run: %s', async (outcome, again) => {
    const ports = loop()
    const { run } = await tonight(ports, new Date(ports.effects.now()).toISOString())
    end(ports, run?.runId ?? '', outcome)
    ports.effects.advance(24 * 3_600_000)
    const next = await tonight(ports, new Date(ports.effects.now()).toISOString())
    expect(next.started).toBe(again)
    expect(next.run?.request.attempt).toBe(again ? 2 : 1)
  })

  it('case 14: the schedule and a person start the same branch, whoever is first: one run', async () => {
    const byPerson = (ports: Ports) =>
      startFromApi(ports, { body: { repository: URL, branch: 'develop', again: false }, startedBy: 'somebody' })
    for (const inOrder of [
      [tonight, byPerson],
      [byPerson, tonight],
    ]) {
      const ports = loop()
      const ids: (string | undefined)[] = []
      for (const start of inOrder) ids.push((await start(ports)).run?.runId)
      expect(new Set(ids).size).toBe(1)
      expect(ports.executions.started).toHaveLength(1)
    }
  })

  it('over a budget: no run, no error that would have it tried again, and people are told', async () => {
    const ports = loop({ budgets: { runs: 1 } })
    await startFromApi(ports, { body: { repository: URL, branch: 'other', again: false }, startedBy: 'somebody' })
    const night = await tonight(ports)
    expect(night).toMatchObject({ run: null, started: false, why: expect.stringMatching(/^all places for 1 run/) as string })
    expect(ports.notices).toMatchObject([{ kind: 'budget' }])
  })

  it.each([
    ['a repository that is not deployed', 'https://git.example/other', {}, 'RepositoryNotAllowed'],
    ['one without a schedule', URL, { triggers: {} }, 'BadRequest'],
  ])('%s is refused', async (_, repository, change, error) => {
    await expect(startNight(loop(change), { repository })).rejects.toMatchObject({ name: error })
  })

  it('a branch that is gone is refused', async () => {
    const ports = loop()
    ports.forge.head = null
    await expect(tonight(ports)).rejects.toMatchObject({ name: 'BranchGone' })
  })

  it('the branch of its fixes is named after the branch', () => {
    expect(nightBranch('release/1.x')).toBe('reviewloop/nightly-release/1.x')
  })
})

describe('the mark of a branch', () => {
  const request = { ...runItemOf().request, night: { since: OLD, from: BASE, certifiedTip: TIP, isDefault: true, most: schedule } }
  const approved: Verdict = { outcome: 'approved', reason: 'certified', by: null, error: null }
  const run = (change: object = {}) => runItemOf({ request, verdict: approved, publishing: null, ...change })
  const SOURCE = 'source/r/n.json'
  const source = async (ports: Loop, night: { tip: string | null; carried: boolean }, mergeBase = OLD) => {
    const info = {
      mergeBase,
      head: NEW,
      base: HEAD,
      pack: 'p',
      settings: null,
      headSettingsDiffer: false,
      headTime: 1,
      files: 1,
      empty: false,
    }
    const prepared = { info, policy: policyOf(), notices: [], fixedBefore: [], messages: [], declinedBefore: [], night }
    await storeSource(ports.artifacts, SOURCE, prepared)
  }
  const FRESH = { tip: null, carried: false }
  const CARRIED = { tip: TIP, carried: true }

  it.each([
    ['without fixes', FRESH, OLD, null, { tip: null, from: null }],
    ['with fixes', FRESH, OLD, 'f', { tip: 'f'.repeat(40), from: OLD }],
    ['with fixes on top of certified ones', CARRIED, TIP, 'f', { tip: 'f'.repeat(40), from: BASE }],
    ['with fixes on top of ones that were not', CARRIED, OLD, 'f', { tip: 'f'.repeat(40), from: OLD }],
    ['with nothing to push, earlier fixes still open', CARRIED, TIP, null, { tip: TIP, from: BASE }],
  ])('moves over what an approved run reviewed: %s', async (_, night, mergeBase, pushed, left) => {
    const ports = loop()
    ports.runs.nightItems.set(AT, markOf())
    await source(ports, night, mergeBase)
    const publishing = pushed && { ref: 'x', commit: pushed.repeat(40) }
    await rememberNight(ports, KEY, run({ publishing }), SOURCE)
    expect(ports.runs.nightItems.get(AT)).toMatchObject({ certified: NEW, ...left, rev: 2 })
    await rememberNight(ports, KEY, run({ publishing }), SOURCE)
    expect(ports.runs.nightItems.get(AT)?.rev).toBe(2)
  })

  it.each([
    ['of a run that was not approved', { verdict: { ...approved, outcome: 'changes-requested' } }, markOf()],
    ['of a run that is no night', { request: runItemOf().request }, markOf()],
    ['that another run has moved meanwhile', {}, markOf({ certified: HEAD })],
  ])('stays where it is: %s', async (_, change, mark) => {
    const ports = loop()
    ports.runs.nightItems.set(AT, mark)
    await source(ports, FRESH)
    await rememberNight(ports, KEY, run(change), SOURCE)
    expect(ports.runs.nightItems.get(AT)).toEqual(mark)
  })

  it('stays where it is when what was reviewed cannot be told any more, and the run ends all the same', async () => {
    const ports = loop()
    ports.runs.nightItems.set(AT, markOf())
    await rememberNight(ports, KEY, run(), SOURCE)
    expect(ports.runs.nightItems.get(AT)).toEqual(markOf())
    expect(ports.effects.logged).toMatchObject([{ level: 'warn' }])
  })

  it('a write that is lost is made by the next Close; until then the same is reviewed again', async () => {
    let lost = 1
    const runs = memoryRuns({
      before: (operation, key) => {
        if (operation === 'write' && key.endsWith('#night') && lost-- > 0) throw new LoopError('StoreUnavailable')
      },
    })
    const ports = makePorts({ deployment: deploymentOf(URL, { triggers: { schedule } }), runs })
    runs.nightItems.set(AT, markOf())
    await source(ports, FRESH)
    await expect(rememberNight(ports, KEY, run(), SOURCE)).rejects.toMatchObject({ name: 'StoreUnavailable' })
    expect((await tonight(ports)).run?.request.night?.since).toBe(OLD)
    await rememberNight(ports, KEY, run(), SOURCE)
    expect(runs.nightItems.get(AT)?.certified).toBe(NEW)
  })
})
