/** Ports of the loop to the stores, the forge and the engine. Adapters: lib/stores/, lib/forge/, lib/local/, lib/runtime/. */
import type { TurnRole } from '../names.ts'
import type { Agents } from './agent.ts'
import type { Deployment } from './deployment.ts'
import type { BranchItem, DeliveryItem, NightItem, RunItem, RunSummary, TurnItem } from './items.ts'
import type { Notice } from './notice.ts'
import type { Happening } from './happening.ts'
import type { TurnRecord } from './record.ts'
import type { RunState } from './run.ts'
import type { ForgeItem, Teller } from './telling.ts'
import type { Changeset, SourceInfo, Workspaces } from './workspace.ts'

/**
 * A table item under compare-and-set. `read` is strongly consistent. `write` stores the item whole, on condition that the
 * stored `rev` is `item.rev - 1` (or that there is none, with rev 1), and answers whether it took. A write whose answer was
 * lost and which did take is recognised by its nonce: the answer is true.
 */
export interface ItemStore<Key, Item> {
  read(key: Key): Promise<Item | null>
  write(key: Key, item: Item): Promise<boolean>
}

export interface SessionStore extends ItemStore<{ runId: string; role: TurnRole }, TurnItem> {}

/** A page of runs, newest first: those after `after`, which is `next` of the page before. */
export interface RunQuery {
  repository?: string | undefined
  branch?: string | undefined
  status?: RunItem['status'] | undefined
  limit: number
  after?: string | undefined
}

export interface RunPage {
  runs: RunSummary[]
  /** null where there are no more. A page may be short, or empty, and not the last. */
  next: string | null
}

/** Who has the place of a branch among the runs at once; `at` is in ms since 1970. */
export interface Place {
  run: string
  at: number
}

/** What a start was refused for. */
export type Bound = 'runs' | 'tokens' | 'dollars'

/** Counters by scope, each call one atomic change. A day is a date by UTC, `2026-01-05`. */
export interface BudgetStore {
  /** Adds what was used to the day's counter; an id that was counted that day changes nothing. */
  add(scope: string, entry: { day: string; id: string; tokens: number; microdollars: number }): Promise<void>
  spent(scope: string, day: string): Promise<{ tokens: number; microdollars: number }>
  /** true for whoever asks first that day of that bound. */
  tellOnce(scope: string, day: string, bound: Bound): Promise<boolean>
  places(scope: string): Promise<(Place & { branch: string })[]>
  /** Takes the place of a branch: the one that it has, or a new one while there are fewer than `most`. `before` is whose it was. */
  enter(scope: string, place: Place & { branch: string; most: number }): Promise<{ entered: boolean; before: Place | null }>
  /** Gives the place back, to nobody or to whom it was before; not ours any more: no error. */
  leave(scope: string, place: { branch: string; run: string }, before?: Place | null): Promise<void>
}

export interface RunStore {
  runs: ItemStore<string, RunItem>
  branches: ItemStore<string, BranchItem>
  /** By the key of the branch. */
  nights: ItemStore<string, NightItem>
  budgets: BudgetStore
  /** What the forge of a run was told, by run id. */
  forges: ItemStore<string, ForgeItem>
  /** By the id of the delivery. */
  deliveries: ItemStore<string, DeliveryItem>
  /** Adds a turn to the run's history; the same turn again changes nothing. */
  addTurn(runId: string, record: TurnRecord): Promise<void>
  /** The run's turns, in order. */
  turns(runId: string): Promise<TurnRecord[]>
  /** All runs, newest first. */
  list(limit?: number): Promise<RunItem[]>
  /** A page of runs, of a table of any size. May lag a moment behind. Errors: BadRequest for an `after` that no page gave. */
  page(query: RunQuery): Promise<RunPage>
  /** Takes a run and its history out of the table (`reviewloop clean`). */
  forget(runId: string): Promise<void>
}

/** Immutable objects. */
export interface ArtifactStore {
  /** Writing the same key again with other bytes is a fault: `StoreConflict`. */
  put(key: string, bytes: Uint8Array): Promise<void>
  get(key: string): Promise<Uint8Array | null>
  /** Deletes everything whose key starts with the prefix; nothing there is no error. */
  deleteAll(prefix: string): Promise<void>
}

/** Addresses from which whoever has one may read an object for some minutes, without a credential. */
export interface ArtifactLinks {
  /** `name` is what a browser saves it as. */
  link(key: string, about: { contentType: string; name: string }): Promise<string>
}

/** Where an object can be put by whoever has no right to the store. */
export interface OfferedPlace {
  url: string
  headers: Record<string, string>
  expiresAt: string
}
export interface UploadOffers {
  /** For the one object of these `bytes` and this `sha256` (hexadecimal), and nothing else. */
  offer(object: { key: string; bytes: number; sha256: string }): Promise<OfferedPlace>
}

export interface Forge {
  /** Commit at the tip of a branch; null when the branch is gone. */
  branchHead(repository: string, branch: string): Promise<string | null>
  /**
   * Puts the fix commits on `target`, as design says: gone → BranchGone; ours already → 'already'; moved → HeadMoved,
   * NightBranchMoved or BranchTaken; else a push that names the expected old commit.
   */
  publish(request: {
    repository: string
    branch: string | null
    head: string
    /** Branch to push to, without refs/heads/. */
    target: string
    commit: string
    info: SourceInfo
    pack: Uint8Array
    changeset: Changeset
    /** The branch of the nights' fixes, which may be written anew where it is there: at that commit, or absent. */
    replaces?: string | null
    signal: AbortSignal
  }): Promise<'published' | 'already'>
}

/** The engine that drives executions: Step Functions, or the embedded one. */
export interface Executions {
  /** Starts an execution under a name; the same name again is no error and starts nothing. */
  start(name: string, input: RunState): Promise<void>
  /** Best effort: a Lambda that is running runs on. */
  stop(name: string): Promise<void>
  /** Wakes the Park state that waits under the token. A token that nobody waits for any more is no error. */
  wake(token: string): Promise<void>
}

export interface Effects {
  /** ms since 1970 */
  now(): number
  /** A unique value. */
  nonce(): string
  /** The process that holds the data folder; null in AWS. */
  owner: string | null
  log(level: 'debug' | 'info' | 'warn' | 'error', message: string, facts?: Record<string, unknown>): void
  /** Told once of each, at most, by whoever brought it about: a worker that comes too late tells nothing. It never throws. */
  happened(what: Happening): void
}

/** Everything a use case may need. A handler is given all; its IAM role decides what works. */
export interface Ports {
  sessions: SessionStore
  runs: RunStore
  artifacts: ArtifactStore
  workspaces: Workspaces
  agents: Agents
  forge: Forge
  /** Tells the forges how runs stand; null where no forge is told anything. Its credential is Publish's alone. */
  teller: Teller | null
  /**
   * Has the forge told how a run stands by now: after it was started, prepared (`begun`), parked, decided, ended. Best effort: it never
   * throws, and the run goes on.
   */
  announce(runId: string, hint?: { begun: boolean }): Promise<void>
  /** Tells people, where the deployment wants them told of it. Best effort, and at least once: it never throws, and the run goes on. */
  notify(notice: Notice): Promise<void>
  executions: Executions
  effects: Effects
  /** Agents of the deployment where the policy names none. */
  defaultAgents: readonly string[]
  deployment: Deployment
}

/** What an invocation is given: until when it may run, and what stops it. */
export interface Invocation {
  deadline: number
  signal: AbortSignal
  progress: (message: string) => void
}
