/** A run that is cut off goes on where it stood: nothing that was finished is done again, and nothing is waited for. */
import { readFile, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { report as reportSchema, type Report } from '../../lib/loop/report.ts'
import { asksOnce, makeCli, twoRounds, type Called, type Cli } from '../support/cli.ts'
import { makeChange, type TestRepository } from '../support/git-repository.ts'

let cli: Cli
let repository: TestRepository
const setUp = async () => {
  repository = (await makeChange({ 'a.txt': 'one\n' }, { 'a.txt': 'one\nbad\n' })).repository
  cli = await makeCli(repository.path)
}
const shut = async () => {
  await cli.close()
  await repository.close()
}
beforeEach(setUp)
afterEach(shut)

const reportIn = ({ stdout }: Called): Report => reportSchema.parse(JSON.parse(stdout))
/**
 * What a run came to, without when, how long and under which epoch and fence. Commits carry the id of their run, so their own ids are
 * replaced by their place, and what they hold is looked at by tree.
 */
const outcomeOf = async ({ run, outcome, reason, rounds, turns, findings, commits, certificates, fixes }: Report) => {
  const trees = await repository.git('log', '--format=%T %an %s', `change..${fixes?.branch}`)
  const text = JSON.stringify({
    outcome,
    reason,
    rounds,
    turns: turns.map(({ role, turn, round, mode, raised, fixed, open, commit }) => ({
      role,
      turn,
      round,
      mode,
      raised,
      fixed,
      open,
      commit,
    })),
    findings,
    commits,
    certified: certificates.map(({ commit }) => commit),
    branch: fixes?.branch,
  })
  const placed = commits.reduce((rest, { id }, index) => rest.replaceAll(id, `commit ${index + 1}`), text).replaceAll(run, 'RUN')
  return { trees, ...(JSON.parse(placed) as object) }
}
const untilDelay = async (running: ReturnType<Cli['start']>, label: string) => {
  await running.says(`… ${label}`)
}

/** What the same change comes to without a break. */
let unbroken: Awaited<ReturnType<typeof outcomeOf>>
beforeAll(async () => {
  await setUp()
  const whole = await cli.run('run', '--output', 'json', '--quiet', '--scenario', await cli.scenario(twoRounds()))
  expect(whole.code).toBe(0)
  unbroken = await outcomeOf(reportIn(whole))
  await shut()
})

describe('kill -9', () => {
  test('in the middle of round 1: resume goes on at once and comes to what an unbroken run comes to', async () => {
    const scenario = await cli.scenario(twoRounds({ 3: { crash: true } }))
    const killed = await cli.run('run', '--scenario', scenario)
    expect(killed).toMatchObject({ code: null, stdout: '' })
    const lock = JSON.parse(await readFile(join(cli.data, 'engine.json'), 'utf8')) as { pid: number }
    expect(lock.pid).toBeGreaterThan(0)
    expect((await cli.run('list')).stdout).toContain('running')
    const before = Date.now()
    const resumed = await cli.run('resume', '--scenario', scenario, '--output', 'json')
    // the lease of the turn that was cut off has minutes to go
    expect(Date.now() - before).toBeLessThan(45_000)
    expect(resumed.stderr).not.toContain('Prepare')
    expect(resumed.stderr.match(/ {2}(Review|Fix|Certify) /g)).toHaveLength(4)
    expect(resumed.code).toBe(0)
    const report = reportIn(resumed)
    expect(report.turns.map(({ turn, epoch }) => [turn, epoch])).toEqual([
      [1, 1],
      [2, 1],
      [3, 2],
      [4, 2],
      [5, 2],
      [6, 2],
    ])
    expect(await outcomeOf(report)).toEqual(unbroken)
    expect(await readdir(join(cli.data, 'scratch'))).toEqual([])
  })

  test.each([2, 6])('in turn %i', async (turn) => {
    const scenario = await cli.scenario(twoRounds({ [turn]: { crash: true } }))
    expect((await cli.run('run', '--scenario', scenario)).code).toBeNull()
    const resumed = await cli.run('resume', '--scenario', scenario, '--output', 'json')
    expect(resumed.code).toBe(0)
    expect(await outcomeOf(reportIn(resumed))).toEqual(unbroken)
  })

  test('the same request instead of resume goes on with the run, too', async () => {
    const scenario = await cli.scenario(twoRounds({ 4: { crash: true } }))
    expect((await cli.run('run', '--scenario', scenario)).code).toBeNull()
    const again = await cli.run('run', '--scenario', scenario, '--output', 'json')
    expect(again.code).toBe(0)
    expect(again.stderr).toContain('under way: it goes on')
    expect(reportIn(again).turns.map(({ turn }) => turn)).toEqual([1, 2, 3, 4, 5, 6])
  })

  test('of the launcher that had to start another Node ends the run with it', async () => {
    const scenario = await cli.scenario(twoRounds({ 2: { delay_ms: 60_000 } }))
    const running = cli.start(['run', '--scenario', scenario], { nodeArgs: ['--no-experimental-strip-types'] })
    await untilDelay(running, 'Fix')
    const owner = JSON.parse(await readFile(join(cli.data, 'engine.json'), 'utf8')) as { pid: number }
    expect(owner.pid).not.toBe(running.child.pid)
    running.child.kill('SIGKILL')
    await running.ended
    const calm = await cli.scenario(twoRounds())
    expect((await cli.run('resume', '--scenario', calm)).code).toBe(0)
  })
})

describe('Ctrl-C', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)('%s in a turn gives 130, and resume takes that turn again and no other', async (signal) => {
    const scenario = await cli.scenario(twoRounds({ 3: { delay_ms: 60_000 } }))
    const running = cli.start(['run', '--scenario', scenario])
    await untilDelay(running, 'Review, round 1')
    running.child.kill(signal)
    const ended = await running.ended
    expect(ended).toMatchObject({ code: 130, stdout: '' })
    expect(ended.stderr).toContain('reviewloop resume')
    // it let go: the folder is free, the turn was given back, no workspace is left
    await expect(readFile(join(cli.data, 'engine.json'))).rejects.toMatchObject({ code: 'ENOENT' })
    expect(await readdir(join(cli.data, 'scratch'))).toEqual([])
    const calm = await cli.scenario(twoRounds())
    const resumed = await cli.run('resume', '--scenario', calm, '--output', 'json')
    expect(resumed.code).toBe(0)
    expect(reportIn(resumed).turns.map(({ epoch }) => epoch)).toEqual([1, 1, 2, 2, 2, 2])
    expect(await outcomeOf(reportIn(resumed))).toEqual(unbroken)
  })
  test('twice ends at once, and that run can be resumed as well', async () => {
    const scenario = await cli.scenario(twoRounds({ 1: { delay_ms: 60_000 } }))
    const running = cli.start(['run', '--scenario', scenario])
    await untilDelay(running, 'Review, round 0')
    running.child.kill('SIGINT')
    setTimeout(() => running.child.kill('SIGINT'), 900)
    expect((await running.ended).code).toBe(130)
    expect((await cli.run('resume', '--scenario', await cli.scenario(twoRounds()))).code).toBe(0)
  })
})

describe('two at once', () => {
  test('a second run is refused with the pid of the first; looking and aborting are not', async () => {
    const scenario = await cli.scenario(twoRounds({ 1: { delay_ms: 60_000 } }))
    const running = cli.start(['run', '--scenario', scenario, '--output', 'json'])
    await untilDelay(running, 'Review, round 0')
    const second = await cli.run('run', '--scenario', scenario)
    expect(second).toMatchObject({ code: 2, stdout: '' })
    expect(second.stderr).toContain(`DataFolderBusy: The data folder ${cli.data} is owned by process ${running.child.pid}.`)
    expect((await cli.run('list')).stdout).toContain('running')
    expect((await cli.run('resume')).code).toBe(2)
    const aborted = await cli.run('abort', '--output', 'json')
    expect(aborted.code).toBe(0)
    expect(reportIn(aborted)).toMatchObject({ outcome: 'aborted', turns: [] })
    // the process that worked on it notices, stops the turn and tells how the run ended
    const first = await running.ended
    expect(first.code).toBe(5)
    expect(reportIn(first)).toMatchObject({ outcome: 'aborted' })
    expect(reportIn(await cli.run('show', '--output', 'json'))).toMatchObject({ outcome: 'aborted' })
  })
})

test('a decision while the folder is in use is recorded at once, and gone on with as soon as the owner lets go', async () => {
  const other = (await makeChange({ 'a.txt': 'one\n' }, { 'a.txt': 'one\nbad\n' })).repository
  expect((await cli.run('run', other.path, '--scenario', await cli.scenario(asksOnce()), '--quiet')).code).toBe(3)
  const running = cli.start(['run', '--scenario', await cli.scenario(twoRounds({ 1: { delay_ms: 6000 } }))])
  await untilDelay(running, 'Review, round 0')
  const decided = await cli.run('decide', '--approve', '--output', 'json')
  expect(decided.stderr).toContain(`Recorded. Process ${running.child.pid} owns the data folder`)
  expect(decided.code).toBe(0)
  expect(reportIn(decided)).toMatchObject({ outcome: 'approved', reason: 'by-person' })
  expect((await running.ended).code).toBe(0)
  await other.close()
})

test('an end that was cut off before its reports were written is made whole by looking at it', async () => {
  const scenario = await cli.scenario(twoRounds())
  const whole = await cli.run('run', '--scenario', scenario, '--output', 'json', '--quiet')
  const { run } = reportIn(whole)
  await rm(join(cli.data, 'artifacts', 'reports', run), { recursive: true })
  await rm(join(cli.data, 'runs'), { recursive: true })
  const shown = await cli.run('show', run, '--output', 'json')
  expect(shown).toMatchObject({ code: 0, stdout: whole.stdout })
})
