/** Turns that need five invocations, for every role, through the state machine: the embedded engine, real git, the scripted agent. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDataFolder, type DataFolder } from '../../lib/local/data-folder.ts'
import { follow } from '../../lib/local/follow.ts'
import { openLoop, type LocalLoop } from '../../lib/local/local-loop.ts'
import { readReport } from '../../lib/loop/close.ts'
import { report as reportSchema } from '../../lib/loop/report.ts'
import { startRun } from '../../lib/loop/start.ts'
import { makeCli, type Cli } from '../support/cli.ts'
import { makeChange, type TestRepository } from '../support/git-repository.ts'

let scratch: string
let cli: Cli
let folder: DataFolder
let loop: LocalLoop
let change: { repository: TestRepository; base: string; head: string }

const WORDS = ['bad', 'first', 'second', 'third', 'fourth', 'good']
/** Four invocations that stop at a checkpoint, and the one that answers; the turns of a role follow each other. */
const fiveOf = (role: string, from: number, last: object, each: (at: number) => object = () => ({})): Record<number, object> =>
  Object.fromEntries(
    Array.from({ length: 5 }, (_, at) => [from + at, { role, ...each(at), ...(at < 4 ? { checkpoint: true } : last) }] as const),
  )
const finding = { rule: 'no-bad', severity: 'error', action: 'auto-fix', file: 'a.txt', line: 2, text: 'bad' }
const SCENARIO = {
  ...fiveOf('reviewer', 1, { findings: [finding] }),
  ...fiveOf('fixer', 6, {}, (at) => ({ edits: [{ replace: 'a.txt', before: WORDS[at], after: WORDS[at + 1] }] })),
  ...fiveOf('reviewer', 11, { accounts: { fixed: 'all' } }),
  ...fiveOf('certifier', 16, {}),
}

beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'reviewloop-long-'))
  cli = await makeCli()
  change = await makeChange({ 'a.txt': 'one\n' }, { 'a.txt': 'one\nbad\n' })
  folder = await openDataFolder(join(scratch, 'data'))
  loop = await openLoop(folder, { waits: false, scenario: await cli.scenario(SCENARIO), agents: ['scripted'] })
})
afterAll(async () => {
  await loop.engine.interrupt()
  loop.close()
  await folder.close()
  await cli.close()
  await change.repository.close()
  await rm(scratch, { recursive: true, force: true })
})

const begin = async (attempt: number, overrides: object) => {
  const { repository, base, head } = change
  const request = { repository: repository.path, branch: 'change', base, head, overrides, attempt, publishTo: null }
  const { runId } = (await startRun(loop.ports, { request, startedBy: 'cli', checkHead: true })).run
  const run = await follow(loop, runId, null)
  const report = reportSchema.parse(JSON.parse(new TextDecoder().decode(await readReport(loop.ports, runId, 'json'))))
  return { run, report }
}

test('a turn of five invocations goes on where it stopped, for reviewer, fixer and certifier, and its work is one commit', async () => {
  const { run, report } = await begin(1, {})
  expect(run.verdict).toMatchObject({ outcome: 'approved', reason: 'certified' })
  const five = (role: string, first: string) => [`${role} ${first}`, ...Array<string>(4).fill(`${role} continued`)]
  expect(report.turns.map(({ role, mode }) => `${role} ${mode}`)).toEqual([
    ...five('reviewer', 'started'),
    ...five('fixer', 'started'),
    ...five('reviewer', 'resumed'),
    ...five('certifier', 'cold'),
  ])
  expect(report.turns.map(({ ended }) => ended)).toEqual(Array.from({ length: 20 }, (_, at) => (at % 5 < 4 ? 'checkpoint' : 'done')))
  expect(report.rounds).toBe(1)
  // one session for each of the two roles that have one, over all of their invocations; none for the certifier
  expect(report.sessions.map(({ role, fingerprints }) => [role, fingerprints.length])).toEqual([
    ['reviewer', 1],
    ['fixer', 1],
  ])
  expect(report.commits).toHaveLength(1)
  expect(await change.repository.git('show', `${report.fixes?.branch}:a.txt`)).toBe('one\ngood')
})

test('one invocation more than may be is the end: the limit is the reason, and what was done is kept', async () => {
  const { run, report } = await begin(2, { ask: 'never', limits: { continuations: 3 } })
  expect(run.verdict).toMatchObject({ outcome: 'changes-requested', reason: 'limit' })
  expect(report.turns).toHaveLength(4)
  expect(report.turns.at(-1)).toMatchObject({ role: 'reviewer', ended: 'limit', limit: 'continuations' })
})
