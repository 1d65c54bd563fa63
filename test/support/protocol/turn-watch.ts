/** What must hold of the role items: claims, fences, leases, finished turns, sessions, tombstones. */
import { isDeepStrictEqual } from 'node:util'
import type { TurnItem } from '../../../lib/loop/items.ts'
import type { Monitor } from './monitor.ts'
import type { Worker } from './worker.ts'
import type { World } from './world.ts'
import { TURN_ROLES, type TurnRole } from '../../../lib/names.ts'

export interface Claim {
  worker: Worker
  runId: string
  role: TurnRole
  turn: number
  fence: number
  input: Record<string, unknown>
  /** As claimed: what of the finished turns there is to attach. */
  item: TurnItem
  /** True time until which the worker may work. */
  deadline: number
}

const MINUTE = 60_000
const same = (a: unknown, b: unknown): boolean => a === b || isDeepStrictEqual(a, b)

export class TurnWatch {
  readonly items = new Map<string, TurnItem>()
  /** The latest claim, by item. */
  readonly claims = new Map<string, Claim>()
  readonly claimsOf = new WeakMap<Worker, Claim>()
  /** Finished turns by run and number, as they were recorded first. */
  readonly results = new Map<string, { role: TurnRole; done: NonNullable<TurnItem['done']> }>()
  /** The first input of every turn that was claimed. */
  readonly inputs = new Map<string, { role: TurnRole; input: Record<string, unknown> }>()
  /** Objects that finished turns left. */
  readonly left = new Map<string, Uint8Array>()
  /** The highest number of a finished turn. */
  lastTurn = 0
  /** Runs of which DynamoDB has deleted an item: what it held may come again. */
  readonly forgotten = new Set<string>()
  readonly #world: World
  readonly #monitor: Monitor

  constructor(world: World, monitor: Monitor) {
    this.#world = world
    this.#monitor = monitor
  }

  itemOf(runId: string, role: TurnRole): TurnItem | null {
    return this.items.get(`Sessions|${runId}#${role}|`) ?? null
  }

  isBuried(runId: string): boolean {
    return TURN_ROLES.every((role) => this.itemOf(runId, role)?.closed)
  }

  /** DynamoDB has deleted the item. */
  forget(runId: string, role: TurnRole): void {
    const key = `Sessions|${runId}#${role}|`
    this.items.delete(key)
    this.claims.delete(key)
    this.forgotten.add(runId)
    for (const map of [this.results, this.inputs])
      for (const [turn, entry] of map) if (turn.startsWith(`${runId} `) && entry.role === role) map.delete(turn)
  }

  written(worker: Worker, key: string, item: TurnItem): void {
    const old = this.items.get(key) ?? null
    this.items.set(key, item)
    const who = `${item.runId} ${item.role}`
    const not = (what: string): void => this.#monitor.violate(`${who}: ${what} (by ${worker.label})`)
    if (old?.closed) return not('the item was written after its tombstone')
    if (this.#monitor.closed.has(item.runId) && !this.forgotten.has(item.runId)) return not('the item was written after Close had finished')
    if (item.fence < (old?.fence ?? 0)) return not(`the fence went back from ${old?.fence} to ${item.fence}`)
    if (item.epoch < (old?.epoch ?? 0)) return not(`the epoch went back from ${old?.epoch} to ${item.epoch}`)
    if (item.closed) return this.#buried(old, item, not)
    const isDone = !same(old?.done ?? null, item.done)
    if (isDone) this.#finished(worker, key, old, item, not)
    else if (item.running && item.fence > (old?.fence ?? 0)) this.#claimed(worker, key, old, item, not)
    else this.#kept(worker, key, old, item, not)
  }

  #claimed(worker: Worker, key: string, old: TurnItem | null, item: TurnItem, not: (what: string) => void): void {
    const { now } = this.#world
    const duty = this.#world.duties.get(worker)
    const { running, runId, role } = item
    if (!running) return
    const { epoch: _epoch, ...input } = running.input
    const claim = { worker, runId, role, turn: running.turn, fence: item.fence, input, item, deadline: duty?.deadline ?? 0 }
    const before = this.claims.get(key)
    const at = `turn ${claim.turn}`
    if (item.epoch !== duty?.epoch) not(`${at} was claimed for epoch ${item.epoch} by an execution of epoch ${duty?.epoch}`)
    if ((old?.done?.turn ?? 0) >= claim.turn) not(`${at} was claimed though turn ${old?.done?.turn} is done`)
    if ((old?.failed?.turn ?? 0) >= claim.turn) not(`${at} was claimed though turn ${old?.failed?.turn} has failed for good`)
    if (old?.running && old.running.turn !== claim.turn) not(`${at} was claimed while turn ${old.running.turn} is in progress`)
    const isHeld =
      before &&
      old?.running &&
      old.running.leaseUntil > 0 &&
      old.running.owner === running.owner &&
      !before.worker.dead &&
      now < before.deadline
    if (isHeld) not(`${at} was claimed while ${before.worker.label} holds it`)
    const first = this.inputs.get(`${runId} ${claim.turn}`)
    if (first && first.role !== role) not(`${at} was claimed by the ${role}, and by the ${first.role} before`)
    if (first && !same(first.input, input)) not(`${at} was entered again with another input`)
    if (first) this.#monitor.saw('turn entered again')
    if (first && (old?.epoch ?? 0) < item.epoch) this.#monitor.saw('turn entered again by a newer execution')
    if (first && old?.running && old.running.leaseUntil > 0) this.#monitor.saw('turn entered again when its lease was over')
    if (!first) this.inputs.set(`${runId} ${claim.turn}`, { role, input })
    if (!same(old?.done ?? null, item.done)) not(`a claim changed what is done`)
    const isVoid = old !== null && old.ttl * 1000 <= now - MINUTE
    if (isVoid) this.#monitor.saw('expired item claimed')
    if (isVoid && (item.session || item.checkpoint)) not('an expired item kept its session')
    if (!isVoid && item.session && !same(old?.session ?? null, item.session)) not('a claim changed the session')
    this.claims.set(key, claim)
    this.claimsOf.set(worker, claim)
  }

  #finished(worker: Worker, key: string, old: TurnItem | null, item: TurnItem, not: (what: string) => void): void {
    const { done, runId, role } = item
    if (!done) return not('a finished turn was taken back')
    const at = `turn ${done.turn}`
    const claim = this.claims.get(key)
    const recorded = this.results.get(`${runId} ${done.turn}`)
    if (recorded) not(`the result of ${at} was recorded a second time`)
    if ((old?.done?.turn ?? 0) >= done.turn) not(`${at} was finished after turn ${old?.done?.turn}`)
    if (!claim || claim.worker !== worker || claim.turn !== done.turn || claim.fence !== item.fence)
      not(`${at} was finished by a worker that does not hold it`)
    this.results.set(`${runId} ${done.turn}`, { role, done })
    const { record, changeset } = done.state
    for (const object of [
      item.session?.transcript,
      item.checkpoint?.transcript,
      item.checkpoint?.work,
      record,
      changeset,
      `${changeset}.patch`,
    ]) {
      const bytes = this.#world.artifacts.objects.get(object ?? '')
      if (object && bytes) this.left.set(object, bytes)
    }
    this.#monitor.saw('turn finished')
    if (done.state.commit !== claim?.input['commit']) this.#monitor.saw('fix commit made')
    this.lastTurn = Math.max(this.lastTurn, done.turn)
    for (const kept of [item.session, item.checkpoint])
      if (kept && !same(kept, old?.session) && kept.checksum) this.#monitor.agents.kept(worker, item, kept, not)
    const isCarried = same(item.session, old?.session ?? null)
    if (!isCarried && item.session && item.session.role !== role) not(`a session of the ${item.session.role} was stored`)
  }

  /** Neither claimed nor finished: given back, failed for good, or kept longer. An id moves with none of these. */
  #kept(worker: Worker, key: string, old: TurnItem | null, item: TurnItem, not: (what: string) => void): void {
    const claim = this.claims.get(key)
    const isOwn = claim?.worker === worker
    if (!same(old?.failed ?? null, item.failed) && !isOwn) not('a turn was failed by a worker that does not hold it')
    if (old?.running && !item.running && !item.failed) not(`turn ${old.running.turn} is in progress no more, and nobody finished it`)
    if (item.running && item.running.leaseUntil !== old?.running?.leaseUntil && !isOwn)
      not('a lease was moved by a worker that does not hold it')
    const isLonger = item.session && old?.session && same({ ...item.session, expiresAt: old.session.expiresAt }, old.session)
    const isGone = item.session === null && item.checkpoint === null && old !== null && old.ttl * 1000 <= this.#world.now + MINUTE
    if (!same(item.session, old?.session ?? null) && !isLonger && !isGone) not('an id moved without a finished turn')
    if (!same(item.checkpoint, old?.checkpoint ?? null) && !isGone) not('a checkpoint moved without a finished turn')
  }

  #buried(old: TurnItem | null, item: TurnItem, not: (what: string) => void): void {
    if (this.#monitor.runs.itemOf(item.runId)?.status !== 'ended') not('a tombstone was made before the run item ended')
    if (item.session || item.checkpoint) not('a tombstone holds a session')
    if (!same(old?.done ?? null, item.done)) not('a tombstone changed what is done')
  }
}
