/** Whether a run may start: what the deployment has left of its day, and of its places for runs at once. */
import { type Deployment, repositoryOf } from './deployment.ts'
import { asLoopError, LoopError } from './errors.ts'
import { budgetNotice } from './notice.ts'
import type { Bound, Place, Ports } from './ports.ts'
import { repositoryScope } from './run-id.ts'
import { DEPLOYMENT_SCOPE } from './spend.ts'

type BudgetPorts = Pick<Ports, 'runs' | 'effects' | 'deployment' | 'notify'>

interface Bounds {
  scope: string
  whose: string
  /** Of which a run was refused. */
  repository: string
  budgets: Deployment['budgets']
}

/** A start that died before its run was there holds its place no longer than this, in ms. */
const GRACE_MS = 300_000

const boundsOf = ({ deployment }: Pick<Ports, 'deployment'>, repository: string): Bounds[] => {
  const own = repositoryOf(deployment, repository)
  return [
    ...(own ? [{ scope: repositoryScope(repository), whose: `the repository ${own.url}`, repository, budgets: own.budgets }] : []),
    { scope: DEPLOYMENT_SCOPE, whose: 'the deployment', repository, budgets: deployment.budgets },
  ]
}

const today = ({ effects }: Pick<Ports, 'effects'>): string => new Date(effects.now()).toISOString().slice(0, 10)

/** People are told once a day, scope and bound; that they could not be told changes nothing about the refusal. */
const refuse = async (ports: BudgetPorts, { scope, whose, repository }: Bounds, bound: Bound, used: string): Promise<never> => {
  const message = `${used}: ${whose} has no more.`
  try {
    if (await ports.runs.budgets.tellOnce(scope, today(ports), bound)) await ports.notify(budgetNotice(repository, message))
  } catch (thrown) {
    ports.effects.log('warn', 'nobody was told that a budget is used up', { scope, error: asLoopError(thrown).message })
  }
  ports.effects.log('warn', 'a start was refused', { scope, why: message })
  throw new LoopError('BudgetExceeded', message, { scope })
}

/** Errors: BudgetExceeded, StoreUnavailable. */
const checkDay = async (ports: BudgetPorts, bounds: Bounds): Promise<void> => {
  const { tokens, dollars } = bounds.budgets.day
  if (tokens === undefined && dollars === undefined) return
  const spent = await ports.runs.budgets.spent(bounds.scope, today(ports))
  if (tokens !== undefined && spent.tokens >= tokens)
    await refuse(ports, bounds, 'tokens', `${spent.tokens} of ${tokens} tokens of today are used`)
  const used = spent.microdollars / 1_000_000
  if (dollars !== undefined && used >= dollars) await refuse(ports, bounds, 'dollars', `${used} of ${dollars} US dollars of today are used`)
}

/** Whether a run holds the branch whose place it is; the lock of the branch is the truth, the place only counts. */
const isHeld = async ({ runs, effects }: BudgetPorts, { branch, at }: Place & { branch: string }): Promise<boolean> => {
  if (effects.now() - at < GRACE_MS) return true
  const active = (await runs.branches.read(branch))?.active ?? null
  const run = active === null ? null : await runs.runs.read(active)
  // A start that died between the lock and the run left a lock that holds nothing.
  return run !== null && run.status !== 'ended'
}

/** Places of runs that have ended without giving them back, or that never began. */
const clear = async (ports: BudgetPorts, scope: string): Promise<void> => {
  for (const place of await ports.runs.budgets.places(scope))
    if (!(await isHeld(ports, place))) await ports.runs.budgets.leave(scope, place)
}

/** Errors: BudgetExceeded, StoreUnavailable. */
const takePlace = async (ports: BudgetPorts, bounds: Bounds, place: { branch: string; run: string }): Promise<Place | null> => {
  const most = bounds.budgets.runs ?? Infinity
  const request = { ...place, at: ports.effects.now(), most }
  let { entered, before } = await ports.runs.budgets.enter(bounds.scope, request)
  if (!entered) {
    await clear(ports, bounds.scope)
    ;({ entered, before } = await ports.runs.budgets.enter(bounds.scope, request))
  }
  return entered ? before : refuse(ports, bounds, 'runs', `all places for ${most} run(s) at once are taken`)
}

/**
 * Checks what is left of the day, and takes the branch's place among the runs at once; gives what gives the place back. A run that
 * takes the place of an older one on its branch takes no further one.
 * Errors: BudgetExceeded, StoreUnavailable.
 */
export const admit = async (
  ports: BudgetPorts,
  { repository, branch, run }: { repository: string; branch: string; run: string },
): Promise<() => Promise<void>> => {
  const all = boundsOf(ports, repository)
  for (const bounds of all) await checkDay(ports, bounds)
  const taken: { scope: string; before: Place | null }[] = []
  const giveBack = async (): Promise<void> => {
    for (const { scope, before } of taken) await ports.runs.budgets.leave(scope, { branch, run }, before)
  }
  try {
    for (const bounds of all)
      if (bounds.budgets.runs !== undefined) taken.push({ scope: bounds.scope, before: await takePlace(ports, bounds, { branch, run }) })
  } catch (thrown) {
    await giveBack()
    throw thrown
  }
  return giveBack
}

/**
 * The run has ended: its place is free, or that of the run which holds the branch by now, where two took both in another order.
 * Errors: StoreUnavailable.
 */
export const dismiss = async (
  ports: Pick<Ports, 'runs' | 'effects' | 'deployment'>,
  { repository, branch, run, heir }: { repository: string; branch: string; run: string; heir: string | null },
): Promise<void> => {
  const next = heir === null ? null : { run: heir, at: ports.effects.now() }
  for (const { scope, budgets } of boundsOf(ports, repository))
    if (budgets.runs !== undefined) await ports.runs.budgets.leave(scope, { branch, run }, next)
}
