/** The branch item: one run a branch at a time, and what published runs left on the branch. */
import { isDeepStrictEqual } from 'node:util'
import { LoopError } from './errors.ts'
import type { DeclinedFinding } from './finding.ts'
import type { BranchItem } from './items.ts'
import type { Effects, RunStore } from './ports.ts'

const KEEP_SECONDS = 400 * 24 * 3600
/** Remembered at most: an item may not grow past 400 KB. */
const MOST_COMMITS = 200
const MOST_RUNS = 20
const MOST_FINDINGS = 500
const MOST_DECLINED = 120
const TRIES = 16

const emptyBranch = (key: string): BranchItem => ({
  key,
  rev: 0,
  nonce: '-',
  active: null,
  head: null,
  begun: false,
  published: [],
  fixed: [],
  declined: [],
  ttl: 0,
})

export type BranchChange = Partial<Pick<BranchItem, 'active' | 'head' | 'begun' | 'published' | 'fixed' | 'declined'>>

/** As `changeRun`, for a branch; a branch that has no item yet is an empty one. Errors: StoreConflict, and what `change` throws. */
export const changeBranch = async (
  ports: { runs: RunStore; effects: Effects },
  key: string,
  change: (branch: BranchItem) => BranchChange | null | Promise<BranchChange | null>,
): Promise<BranchItem> => {
  for (let tries = 0; tries < TRIES; tries++) {
    const branch = (await ports.runs.branches.read(key)) ?? emptyBranch(key)
    const changes = await change(branch)
    if (!changes) return branch
    const next: BranchItem = {
      ...branch,
      ...changes,
      rev: branch.rev + 1,
      nonce: ports.effects.nonce(),
      ttl: Math.floor(ports.effects.now() / 1000) + KEEP_SECONDS,
    }
    if (await ports.runs.branches.write(key, next)) return next
  }
  throw new LoopError('StoreConflict', 'Others keep writing the lock of this branch.', { key })
}

/** Frees the branch if the run holds it. */
export const freeBranch = (ports: { runs: RunStore; effects: Effects }, key: string, runId: string): Promise<BranchItem> =>
  changeBranch(ports, key, (branch) => (branch.active === runId ? { active: null, head: null, begun: false } : null))

/** What a run is about to publish on the branch: its commits, and the findings they fix. */
export const rememberPublished = (
  ports: { runs: RunStore; effects: Effects },
  key: string,
  { run, commits, fixed }: { run: string; commits: readonly string[]; fixed: readonly string[] },
): Promise<BranchItem> =>
  changeBranch(ports, key, (branch) => {
    const known = new Set(branch.published.map((entry) => entry.commit))
    const added = commits.filter((commit) => !known.has(commit)).map((commit) => ({ commit, run }))
    if (!added.length) return null
    return {
      published: [...branch.published, ...added].slice(-MOST_COMMITS),
      fixed: [...branch.fixed.filter((entry) => entry.run !== run), { run, findings: fixed.slice(0, MOST_FINDINGS) }].slice(-MOST_RUNS),
    }
  })

/**
 * Findings that published runs fixed and that the history of the change holds the fix of. A fix that nobody merged says nothing:
 * only where its commit is in the branch and the finding is there all the same did a person take it out.
 */
export const fixedInHistory = (branch: BranchItem | null, history: readonly string[]): string[] => {
  const commits = new Set(history)
  const merged = new Set(branch?.published.filter((entry) => commits.has(entry.commit)).map((entry) => entry.run))
  return [...new Set(branch?.fixed.filter((entry) => merged.has(entry.run)).flatMap((entry) => entry.findings))]
}

/**
 * Keeps what people declined on the branch, and forgets what they have asked for since. One that was declined in an earlier run is
 * kept as theirs; only where its code is now is taken over. Past the bound the oldest are asked about again.
 */
export const rememberDeclined = async (
  ports: { runs: RunStore; effects: Effects },
  key: string,
  { run, declined, wanted }: { run: string; declined: readonly DeclinedFinding[]; wanted: readonly string[] },
): Promise<void> => {
  if (!declined.length && !wanted.length) return
  await changeBranch(ports, key, (branch) => {
    const known = new Map(branch.declined.map((entry) => [entry.id, entry]))
    for (const entry of declined) {
      const before = known.get(entry.id)
      const { severity, content } = entry
      if (!before && entry.run !== run) continue
      known.delete(entry.id)
      known.set(entry.id, before && entry.run !== run ? { ...before, severity, content } : entry)
    }
    for (const id of wanted) known.delete(id)
    const next = [...known.values()].slice(-MOST_DECLINED)
    return isDeepStrictEqual(next, branch.declined) ? null : { declined: next }
  })
}
