/** Starting a run, from any door: the same request is one run, one run a branch, and a newer head supersedes. */
import { executionName } from '../names.ts'
import { admit } from './budget.ts'
import { changeBranch, freeBranch } from './branch.ts'
import { KEEP_SECONDS } from './current-run.ts'
import { agentsOf } from './deployment.ts'
import { endUnder } from './end-run.ts'
import { LoopError } from './errors.ts'
import { firstIssue } from './issue.ts'
import type { RunItem } from './items.ts'
import type { Forge, Ports } from './ports.ts'
import { initialState } from './resume.ts'
import { type RunRequest, runRequest } from './run.ts'
import { branchKeyOf, runIdOf } from './run-id.ts'
import { resolvePolicy } from './settings.ts'

export interface Started {
  run: RunItem
  /** false: the request, or its head, is that of a run there was before; `run` is that run. */
  started: boolean
}

/** Whoever starts runs asks the forge where a branch stands, and publishes nothing. */
export type StartPorts = Pick<
  Ports,
  'runs' | 'sessions' | 'executions' | 'effects' | 'defaultAgents' | 'announce' | 'notify' | 'deployment'
> & {
  forge: Pick<Forge, 'branchHead'>
}

/**
 * Starts a run. The same request again gives the run there is, and makes sure that its first execution was started.
 * Errors: BadRequest, BadSettings, BranchGone, NotTheBranchHead, FetchFailed, FetchRefused, BudgetExceeded, StoreConflict,
 * StoreUnavailable.
 */
export const startRun = async (
  ports: StartPorts,
  input: { request: RunRequest; startedBy: string; checkHead: boolean; again?: boolean; bundle?: string },
): Promise<Started> => {
  const parsed = runRequest.safeParse(input.request)
  if (!parsed.success) {
    throw new LoopError('BadRequest', `The request is not valid: ${firstIssue(parsed.error)}.`)
  }
  const request = parsed.data
  resolvePolicy({ text: null, file: '', overrides: request.overrides })
  const runId = runIdOf(request, agentsOf(ports, request.repository))

  const before = await ports.runs.runs.read(runId)
  if (before) return { run: await goneOn(ports, before), started: false }
  const key = branchKeyOf(request.repository, request.branch ?? request.head)
  const own = input.again ? null : await publishedBy(ports, key, request)
  if (own) return { run: own, started: false }

  const wish = { runId, request, again: input.again ?? false, checkHead: input.checkHead }
  const there = await holderOf(ports, (await ports.runs.branches.read(key))?.active ?? null)
  if (there && keeps(there, wish)) return { run: await goneOn(ports, there), started: false }
  const giveBack = await admit(ports, { repository: request.repository, branch: key, run: runId })
  const other = await takeBranch(ports, key, wish).catch(async (error: unknown) => {
    await giveBack()
    throw error
  })
  if (other) {
    await giveBack()
    return { run: await goneOn(ports, other), started: false }
  }
  const item = newRun(ports, runId, request, input)
  const created = await ports.runs.runs.write(runId, item)
  const run = created ? item : ((await ports.runs.runs.read(runId)) ?? item)
  // Somebody else's start of the same request was so much faster that the run is over: the lock taken here holds nothing.
  if (run.status === 'ended') {
    await freeBranch(ports, key, runId)
    await giveBack()
  }
  const gone = await goneOn(ports, run)
  if (created) await ports.announce(runId)
  return { run: gone, started: created && gone.runId === runId && gone.epoch === 1 }
}

/**
 * A name starts one execution, so a start whose answer was lost is made good here, and one that took is not repeated. Where a newer
 * start has taken the lock before there was a run item to supersede, this run gives way by itself, whenever that is seen.
 */
const goneOn = async (ports: StartPorts, run: RunItem): Promise<RunItem> => {
  if (run.status === 'ended' || run.epoch !== 1) return run
  const { repository, branch, head } = run.request
  // A newer start that has read the lock, and found no run item yet to supersede, loses its compare-and-set by this and looks again.
  const key = branchKeyOf(repository, branch ?? head)
  const lock = await changeBranch(ports, key, ({ active, begun }) => (active === run.runId && !begun ? { begun: true } : null))
  if (lock.active !== run.runId) {
    await supersede(ports, run.runId)
    // Of two that start one head with different wishes, the one that lost shows the other's run.
    const twin = lock.head === head ? await holderOf(ports, lock.active) : null
    return twin ?? (await ports.runs.runs.read(run.runId)) ?? run
  }
  await ports.executions.start(executionName(run.runId, 1), initialState(run))
  return run
}

/** Looks at the lock while another start of the same head is between its lock and its run item. */
const MOST_LOOKS = 20

/**
 * Takes the lock of the branch, and gives null; or gives the run that keeps it. That is the one under way of the very same change:
 * whoever comes second, by whatever door and with whatever wishes, is shown that run, and only an explicit re-request takes its
 * place. Any other is ended first and the lock taken then: a start that dies between the two leaves nothing running. The forge is asked
 * between reading the lock and writing it, so that a start which was slow does not take the branch from one that saw a newer head.
 * A start of the same head that has the lock and no run item yet is given some looks to write it: it has most likely not died.
 */
const takeBranch = async (ports: StartPorts, key: string, wish: Wish): Promise<RunItem | null> => {
  for (let looks = 0; ; looks++) {
    let keeper: RunItem | null = null
    let isBeginning = false
    await changeBranch(ports, key, async ({ active, head }) => {
      keeper = null
      if (active === wish.runId) return null
      const holder = await holderOf(ports, active)
      if (holder && keeps(holder, wish)) {
        keeper = holder
        return null
      }
      isBeginning = active !== null && !holder && head === wish.request.head && !wish.again && looks < MOST_LOOKS
      if (isBeginning) return null
      if (wish.checkHead && wish.request.branch !== null) await assertHead(ports, wish.request, wish.request.branch)
      // One whose item was not there when it was looked for gives way by itself, or has begun by now: then this write loses.
      if (holder) await supersede(ports, holder.runId)
      return { active: wish.runId, head: wish.request.head, begun: false }
    })
    if (!isBeginning) return keeper
  }
}

interface Wish {
  runId: string
  request: RunRequest
  again: boolean
  checkHead: boolean
}

/** The run that holds a branch, if its item is there yet. */
const holderOf = async (ports: StartPorts, active: string | null): Promise<RunItem | null> =>
  active === null ? null : ports.runs.runs.read(active)

/** Whether the run that holds the branch keeps it: another one, under way, of the very same change. */
const keeps = (run: RunItem, { runId, request, again }: Wish): boolean =>
  run.runId !== runId && !again && run.verdict === null && run.request.head === request.head && run.request.base === request.base

const newRun = (ports: StartPorts, runId: string, request: RunRequest, from: { startedBy: string; bundle?: string }): RunItem => {
  const now = new Date(ports.effects.now()).toISOString()
  return {
    runId,
    rev: 1,
    nonce: ports.effects.nonce(),
    request,
    status: 'running',
    epoch: 1,
    startedBy: from.startedBy,
    bundle: from.bundle ?? null,
    question: null,
    token: null,
    decision: null,
    publishing: null,
    reports: {},
    record: null,
    verdict: null,
    failure: null,
    createdAt: now,
    updatedAt: now,
    endedAt: null,
    closed: false,
    ttl: Math.floor(ports.effects.now() / 1000) + KEEP_SECONDS,
  }
}

const assertHead = async (ports: StartPorts, request: RunRequest, branch: string): Promise<void> => {
  const head = await ports.forge.branchHead(request.repository, branch)
  if (head === null) throw new LoopError('BranchGone', `The repository has no branch ${branch}.`, { branch })
  if (head !== request.head)
    throw new LoopError('NotTheBranchHead', `${request.head.slice(0, 12)} is not the head of ${branch}; that is ${head.slice(0, 12)}.`, {
      branch,
      head,
    })
}

/** A head that we published starts nothing, unless a new attempt is asked for. */
const publishedBy = async (ports: StartPorts, key: string, request: RunRequest): Promise<RunItem | null> => {
  if (request.attempt > 1) return null
  const published = (await ports.runs.branches.read(key))?.published.find((entry) => entry.commit === request.head)
  return published ? ports.runs.runs.read(published.run) : null
}

const supersede = async (ports: StartPorts, runId: string): Promise<void> => {
  // A lock whose run item was never written, or whose run has ended, holds nothing.
  if (!(await ports.runs.runs.read(runId))) return
  await endUnder(ports, runId, { verdict: { outcome: 'superseded', reason: 'superseded', by: null, error: null } })
}
