/** Where the changes are: three heads over one base, two of them on one branch, in memory or in a real repository. */
import { createHash } from 'node:crypto'
import { LoopError } from '../../../lib/loop/errors.ts'
import type { Forge, Ports } from '../../../lib/loop/ports.ts'
import type { RunRequest } from '../../../lib/loop/run.ts'
import type { Workspaces } from '../../../lib/loop/workspace.ts'
import { FakeWorkspaces } from '../fake-workspace.ts'
import { makeRepository } from '../git-repository.ts'
import type { Plan } from './plan.ts'

export const HEADS = ['main', 'newer', 'other'] as const
export type HeadName = (typeof HEADS)[number]

export interface Place {
  repository: string
  base: string
  heads: Record<HeadName, string>
  /** Moves a branch, or deletes it. */
  move(branch: string, commit: string | null): Promise<void>
  tip(branch: string): Promise<string | null>
  adapt(adapters: Ports): Pick<Ports, 'workspaces' | 'forge'>
  close(): Promise<void>
}

type Files = Record<string, string>
const BASE: Files = { 'a.js': 'one\n', 'b.js': 'zero\n' }

/** Each head has the defects of the plan, and one that is its own. */
const filesOf = (plan: Plan): Record<HeadName, Files> => {
  const defects = Array.from({ length: plan.defects }, (_, at) => `BAD${at + 1};\n`)
  const change = (own: string): Files => ({
    'a.js': `one\n${defects.filter((_, at) => at % 2 === 0).join('')}`,
    'b.js': `zero\n${defects.filter((_, at) => at % 2).join('')}${own}`,
  })
  return { main: plan.empty ? BASE : change('main\n'), newer: change('newer\n'), other: change('other BAD9;\n') }
}

const idOf = (...parts: unknown[]): string => createHash('sha1').update(JSON.stringify(parts)).digest('hex')

export const memoryPlace = (plan: Plan, seed: number): Place => {
  const files = filesOf(plan)
  const heads = { main: idOf(seed, 'main'), newer: idOf(seed, 'newer'), other: idOf(seed, 'other') }
  const copies = new Map(HEADS.map((name) => [heads[name], new FakeWorkspaces({ base: BASE, head: files[name] })]))
  const of = (head: string): FakeWorkspaces => {
    const found = copies.get(head)
    if (!found) throw new LoopError('NoCommit', `There is no commit ${head}.`)
    return found
  }
  const workspaces: Workspaces = {
    fetch: (source, limits, signal) => of(source.head).fetch(source, limits, signal),
    open: (options) => of(options.info.head).open(options),
    compare: (options) => of(options.info.head).compare(options),
  }
  const refs = new Map<string, string>([
    ['change', heads.main],
    ['other', heads.other],
  ])
  return {
    repository: 'https://git.example/team/project',
    base: idOf(seed, 'base'),
    heads,
    move: async (branch, commit) => void (commit === null ? refs.delete(branch) : refs.set(branch, commit)),
    tip: async (branch) => refs.get(branch) ?? null,
    adapt: () => ({ workspaces, forge: memoryForge(refs) }),
    close: async () => {},
  }
}

const memoryForge = (refs: Map<string, string>): Forge => ({
  branchHead: async (_repository, branch) => refs.get(branch) ?? null,
  publish: async ({ branch, target, head, commit }) => {
    const [source, tip] = [branch === null ? null : refs.get(branch), refs.get(target)]
    if (source === undefined) throw new LoopError('BranchGone', `branch ${branch} is gone`)
    if (tip === commit) return 'already'
    if (source !== null && source !== head) throw new LoopError('HeadMoved', `branch ${branch} is at ${source}`)
    if (branch !== target && tip !== undefined) throw new LoopError('BranchTaken', `branch ${target} exists`)
    refs.set(target, commit)
    return 'published'
  },
})

export const gitPlace = async (plan: Plan): Promise<Place> => {
  const files = filesOf(plan)
  const repository = await makeRepository()
  const base = await repository.commit('base', BASE)
  await repository.branch('change')
  const main = plan.empty ? await repository.commit('empty') : await repository.commit('main', files.main)
  const newer = await repository.commit('newer', files.newer)
  await repository.switchTo('main')
  await repository.branch('other')
  const other = await repository.commit('other', files.other)
  await repository.switchTo('main')
  const move: Place['move'] = async (branch, commit) => {
    await repository.git('update-ref', ...(commit === null ? ['-d', `refs/heads/${branch}`] : [`refs/heads/${branch}`, commit]))
  }
  await move('kept', newer)
  await move('change', main)
  return {
    repository: repository.path,
    base,
    heads: { main, newer, other },
    move,
    tip: (branch) => repository.id(`refs/heads/${branch}`).catch(() => null),
    adapt: ({ workspaces, forge }) => ({ workspaces, forge }),
    close: () => repository.close(),
  }
}

/** What people ask for: the two heads of the one branch, and the other branch. */
export const requestsOf = ({ settings, ontoBranch }: Plan, { repository, base, heads }: Place): Record<HeadName, RunRequest> => {
  const of = (branch: string, head: string): RunRequest => ({
    repository,
    branch,
    base,
    head,
    overrides: settings,
    attempt: 1,
    publishTo: ontoBranch ? branch : null,
  })
  return { main: of('change', heads.main), newer: of('change', heads.newer), other: of('other', heads.other) }
}
