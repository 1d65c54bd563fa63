/** Reviews by the clock, on the embedded engine with a git server on loopback: each night what is new, and one branch. */
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type DataFolder, openDataFolder } from '../../lib/local/data-folder.ts'
import { type LocalLoop, openLoop } from '../../lib/local/local-loop.ts'
import type { AgentResult, AgentTurn } from '../../lib/loop/agent.ts'
import { deployment } from '../../lib/loop/deployment.ts'
import type { NightItem, RunItem } from '../../lib/loop/items.ts'
import { type Night, nightBranch, startNight } from '../../lib/loop/night.ts'
import { branchKeyOf } from '../../lib/loop/run-id.ts'
import { type PreparedSource, preparedSource } from '../../lib/loop/source.ts'
import { FakeAgent, fakeAgents } from '../support/fake-agent.ts'
import { type GitServer, serveGit } from '../support/git-http-server.ts'
import { makeRepository, repositoryAt, temporaryFolder, type TestRepository } from '../support/git-repository.ts'

const NIGHTLY = nightBranch('main')
/** Takes every `export let` of an added line for wrong, and makes it `const`. */
const agent = new (class extends FakeAgent {
  override async run(turn: AgentTurn): Promise<AgentResult> {
    const { task } = turn.prompt
    if (task.kind === 'fix') {
      const files = new Set(task.findings.map(({ file }) => file))
      for (const file of files) await turn.edits?.edit(file, 'export let', 'export const')
      return this.done({ results: task.findings.map(({ id }) => ({ id, status: 'fixed' })), summary: 'mended' })(turn)
    }
    const findings = task.diff.flatMap(({ path, hunks }) =>
      hunks.flatMap(({ lines }) =>
        lines
          .filter(({ kind, text }) => kind === 'added' && text.startsWith('export let'))
          .map(({ newLine, text }) => ({ rule: 'no-let', severity: 'error', action: 'auto-fix', file: path, line: newLine, text })),
      ),
    )
    const accounts = task.outstanding.map(({ id }) => ({ id, status: 'fixed' }))
    return this.done({ findings, accounts: findings.length ? [] : accounts, skipped: [], summary: 'looked' })(turn)
  }
})('mender')
const bad = (name: string): string => `export let ${name} = 1\n`
const mended = (name: string): string => `export const ${name} = 1`

let root: string
let git: GitServer
let url: string
let bare: TestRepository
let work: TestRepository
let data: string
let folder: DataFolder
let loop: LocalLoop
let prepared: PreparedSource | null
let now: number

beforeAll(async () => {
  root = await temporaryFolder()
  git = await serveGit({ root })
  url = `${git.url}/project`
})
afterAll(async () => {
  await git.close()
  await repositoryAt(root).close()
})

const opened = async (schedule: object = {}): Promise<void> => {
  folder = await openDataFolder(data)
  loop = await openLoop(folder, {
    waits: false,
    agents: [agent.id],
    deployment: deployment.parse({ repositories: [{ url, triggers: { schedule: { branch: 'main', ...schedule } } }] }),
    ports: (adapters) => ({
      ...adapters,
      agents: fakeAgents(agent),
      artifacts: {
        get: (key) => adapters.artifacts.get(key),
        deleteAll: (prefix) => adapters.artifacts.deleteAll(prefix),
        put: async (key, bytes) => {
          if (/^source\/.*json$/.test(key)) prepared = preparedSource.parse(JSON.parse(Buffer.from(bytes).toString()))
          await adapters.artifacts.put(key, bytes)
        },
      },
    }),
  })
}
const closed = async (): Promise<void> => {
  await loop.engine.interrupt()
  loop.close()
  await folder.close()
}

beforeEach(async () => {
  const made = await makeRepository({ bare: true })
  await made.git('config', 'http.receivepack', 'true')
  await rename(made.path, join(root, 'project'))
  bare = repositoryAt(join(root, 'project'))
  work = await makeRepository()
  data = join(await temporaryFolder(), 'data')
  now = Date.now()
  await work.commit('before anybody looked', { 'old.js': bad('old') })
  await opened({ commits: 3 })
})
afterEach(async () => {
  await closed()
  await repositoryAt(join(data, '..')).close()
  await work.close()
  await bare.close()
})

const push = async (files: Record<string, string>): Promise<string> => {
  const id = await work.commit(`change ${Object.keys(files).join(' ')}`, files)
  await work.git('push', '--quiet', '--force', bare.path, 'main')
  return id
}

const ended = async (run: RunItem): Promise<RunItem> => {
  for (;;) {
    const item = await loop.ports.runs.runs.read(run.runId)
    if (item?.closed) return item
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** One night from its schedule to the end of its run. */
const night = async (): Promise<{ night: Night; run: RunItem | null; source: PreparedSource | null }> => {
  prepared = null
  now += 24 * 3_600_000
  const come = await startNight(loop.ports, { repository: url, at: new Date(now).toISOString() })
  return { night: come, run: come.run && (await ended(come.run)), source: prepared }
}
const mark = (): Promise<NightItem | null> => loop.ports.runs.nights.read(branchKeyOf(url, 'main'))
const branches = async (): Promise<string[]> => (await bare.git('for-each-ref', '--format=%(refname:short)')).split('\n')
const onNightly = (file: string): Promise<string> => bare.git('cat-file', 'blob', `${NIGHTLY}:${file}`)
/** Files of the diff that was reviewed. */
const reviewed = async (source: PreparedSource | null, run: RunItem | null): Promise<string[]> => {
  const { findings } = JSON.parse(Buffer.from((await loop.ports.artifacts.get(run?.reports['json'] ?? '')) ?? '{}').toString()) as {
    findings: { file: string }[]
  }
  expect(findings.length).toBeLessThanOrEqual(source?.info.files ?? 0)
  return [...new Set(findings.map(({ file }) => file))].toSorted()
}
const certified = { outcome: 'approved', reason: 'certified' }

describe('three nights', () => {
  test('each reviews what is new, on one branch that grows, and a night without news starts nothing', async () => {
    const heads = [await push({ 'one.js': bad('one') })]
    const first = await night()
    expect(first.run).toMatchObject({ startedBy: 'schedule', verdict: certified, publishing: { ref: NIGHTLY } })
    expect(await reviewed(first.source, first.run)).toEqual(['one.js'])
    expect(first.source?.notices[0]).toMatch(/^A first night: reviewed is what came after/)
    expect(await branches()).toEqual(['main', NIGHTLY])
    expect([await onNightly('one.js'), await onNightly('old.js')]).toEqual([mended('one'), bad('old').trim()])
    const tips = [await bare.id(NIGHTLY)]
    expect(await mark()).toMatchObject({ certified: heads[0], tip: tips[0] })

    heads.push(await push({ 'two.js': bad('two') }))
    const second = await night()
    expect(second.run).toMatchObject({ verdict: certified, publishing: { ref: NIGHTLY } })
    expect(await reviewed(second.source, second.run)).toEqual(['two.js'])
    expect(second.source?.info).toMatchObject({ mergeBase: tips[0], head: heads[1], files: 1 })
    tips.push(await bare.id(NIGHTLY))
    expect([await onNightly('one.js'), await onNightly('two.js')]).toEqual([mended('one'), mended('two')])

    const idle = await night()
    expect(idle.night).toEqual({ run: null, started: false, why: `Nothing is new on main: ${heads[1]?.slice(0, 12)} is certified.` })
    expect(await bare.id(NIGHTLY)).toBe(tips[1])

    heads.push(await push({ 'three.js': bad('three') }))
    const third = await night()
    expect(await reviewed(third.source, third.run)).toEqual(['three.js'])
    for (const name of ['one', 'two', 'three']) expect(await onNightly(`${name}.js`)).toBe(mended(name))
    expect(await branches()).toEqual(['main', NIGHTLY])
    // Made on the newest head each night: what is merged is what is there.
    expect(await bare.git('merge-base', 'main', NIGHTLY)).toBe(heads[2])
    expect(await mark()).toMatchObject({ certified: heads[2], tip: await bare.id(NIGHTLY) })
  })

  test('fixes that the branch has overtaken are given up, and what they were made for is reviewed again', async () => {
    await push({ 'one.js': bad('one') })
    await night()
    await push({ 'one.js': bad('uno'), 'two.js': bad('two') })
    const { run, source } = await night()
    expect(run?.verdict).toMatchObject(certified)
    expect(source?.notices[0]).toMatch(/cannot be merged with the branch: what they were made for is reviewed again/)
    expect(await reviewed(source, run)).toEqual(['one.js', 'two.js'])
    expect([await onNightly('one.js'), await onNightly('two.js')]).toEqual([mended('uno'), mended('two')])
  })
})

describe('what people push onto the branch of the nights', () => {
  test('is not written over: the run ends with a typed error and nothing is pushed', async () => {
    await push({ 'one.js': bad('one') })
    await night()
    await work.git('fetch', '--quiet', bare.path, NIGHTLY)
    await work.git('checkout', '--quiet', '-b', 'own', 'FETCH_HEAD')
    const own = await work.commit('my own fix', { 'mine.js': 'export const mine = 1\n' })
    await work.git('push', '--quiet', bare.path, `own:${NIGHTLY}`)
    await work.git('checkout', '--quiet', 'main')
    const before = await mark()
    await push({ 'two.js': bad('two') })
    const { run } = await night()
    expect(run).toMatchObject({ verdict: { outcome: 'failed', error: 'NightBranchMoved' } })
    expect(run?.failure?.message).toContain(NIGHTLY)
    expect(await bare.id(NIGHTLY)).toBe(own)
    expect(await mark()).toEqual(before)

    await bare.git('branch', '-D', NIGHTLY)
    const next = await night()
    expect(next.run).toMatchObject({ verdict: certified, request: { attempt: 2 } })
    expect(await onNightly('two.js')).toBe(mended('two'))
  })
})

describe('more than a night reviews', () => {
  test('is left to the nights after, oldest first, and said; the mark moves over what was reviewed alone', async () => {
    await push({ 'zero.js': 'export const zero = 0\n' })
    await night()
    const heads: string[] = []
    for (const name of ['a', 'b', 'c', 'd', 'e']) heads.push(await push({ [`${name}.js`]: bad(name) }))
    const first = await night()
    expect(first.run?.verdict).toMatchObject(certified)
    expect(await reviewed(first.source, first.run)).toEqual(['a.js', 'b.js', 'c.js'])
    expect(first.source?.notices).toEqual([
      `2 newer commit(s) of the branch are over what one night reviews and left to the next; reviewed is up to ${heads[2]?.slice(0, 12)}.`,
    ])
    expect(await mark()).toMatchObject({ certified: heads[2] })
    const second = await night()
    expect(await reviewed(second.source, second.run)).toEqual(['d.js', 'e.js'])
    expect(await mark()).toMatchObject({ certified: heads[4] })
    for (const name of ['a', 'b', 'c', 'd', 'e']) expect(await onNightly(`${name}.js`)).toBe(mended(name))
  })
})
