/** Stores in memory, held to the same contract as the real ones, with a hook where a test can let a call fail. */
import { LoopError } from '../../lib/loop/errors.ts'
import {
  type BranchItem,
  branchItem,
  type DeliveryItem,
  deliveryItem,
  type NightItem,
  nightItem,
  type RunItem,
  runItem,
  type TurnItem,
  turnItem,
} from '../../lib/loop/items.ts'
import type { ArtifactStore, ItemStore, RunStore, SessionStore } from '../../lib/loop/ports.ts'
import { type ForgeItem, forgeItem } from '../../lib/loop/telling.ts'
import { memoryBudgets } from './memory-budgets.ts'
import type { TurnRecord } from '../../lib/loop/record.ts'
import { pageOf } from '../../lib/loop/run-list.ts'
import { deliveryKey, roleKey } from '../../lib/names.ts'

export type Operation = 'read' | 'write' | 'addTurn' | 'put' | 'get' | 'deleteAll'
/** `before` may throw: nothing was done. `after` may throw: it was done, and its answer is lost. Either may wait. */
export interface Faults {
  before?: (operation: Operation, key: string) => void | Promise<void>
  after?: (operation: Operation, key: string) => void | Promise<void>
}

const around = async <T>(faults: Faults, operation: Operation, key: string, call: () => T): Promise<T> => {
  await faults.before?.(operation, key)
  const answer = call()
  await faults.after?.(operation, key)
  return answer
}

type Schema<Item> = { parse(value: unknown): Item }

const memoryItems = <Key, Item extends { rev: number; nonce: string }>(
  items: Map<string, Item>,
  schema: Schema<Item>,
  keyOf: (key: Key) => string,
  faults: Faults,
): ItemStore<Key, Item> => ({
  read: (key) => around(faults, 'read', keyOf(key), () => structuredClone(items.get(keyOf(key)) ?? null)),
  write: (key, item) =>
    around(faults, 'write', keyOf(key), () => {
      const old = items.get(keyOf(key))
      if (old?.nonce === item.nonce) return true
      if ((old?.rev ?? 0) !== item.rev - 1) return false
      items.set(keyOf(key), schema.parse(structuredClone(item)))
      return true
    }),
})

export interface MemorySessions extends SessionStore {
  /** What is stored, by `<runId>#<role>`: tests may look at it and put things there. */
  items: Map<string, TurnItem>
}
export const memorySessions = (faults: Faults = {}): MemorySessions => {
  const items = new Map<string, TurnItem>()
  return { items, ...memoryItems(items, turnItem, ({ runId, role }) => roleKey(runId, role), faults) }
}

export interface MemoryRuns extends RunStore {
  runItems: Map<string, RunItem>
  branchItems: Map<string, BranchItem>
  nightItems: Map<string, NightItem>
  forgeItems: Map<string, ForgeItem>
  deliveryItems: Map<string, DeliveryItem>
}
export const memoryRuns = (faults: Faults = {}): MemoryRuns => {
  const runItems = new Map<string, RunItem>()
  const branchItems = new Map<string, BranchItem>()
  const forgeItems = new Map<string, ForgeItem>()
  const deliveryItems = new Map<string, DeliveryItem>()
  const nightItems = new Map<string, NightItem>()
  const history = new Map<string, TurnRecord>()
  const ofRun = (runId: string) => [...history].filter(([key]) => key.startsWith(`${runId}#`))
  return {
    runItems,
    branchItems,
    forgeItems,
    runs: memoryItems<string, RunItem>(runItems, runItem, (key) => key, faults),
    nights: memoryItems<string, NightItem>(nightItems, nightItem, (key) => `${key}#night`, faults),
    nightItems,
    branches: memoryItems<string, BranchItem>(branchItems, branchItem, (key) => key, faults),
    forges: memoryItems<string, ForgeItem>(forgeItems, forgeItem, (key) => `${key}#forge`, faults),
    deliveryItems,
    deliveries: memoryItems<string, DeliveryItem>(deliveryItems, deliveryItem, deliveryKey, faults),
    budgets: memoryBudgets(),
    addTurn: (runId, record) => {
      const key = `${roleKey(runId, record.role)}#${record.turn}`
      return around(faults, 'addTurn', key, () => {
        if (!history.has(key)) history.set(key, structuredClone(record))
      })
    },
    turns: async (runId) =>
      ofRun(runId)
        .map(([, record]) => structuredClone(record))
        .sort((a, b) => a.turn - b.turn),
    list: async (limit) => structuredClone([...runItems.values()].sort((a, b) => b.createdAt.localeCompare(a.createdAt)).slice(0, limit)),
    page: async (query) => pageOf([...runItems.values()], query),
    forget: async (runId) => {
      for (const [key] of ofRun(runId)) history.delete(key)
      forgeItems.delete(`${runId}#forge`)
      runItems.delete(runId)
    },
  }
}

export interface MemoryArtifacts extends ArtifactStore {
  objects: Map<string, Uint8Array>
}
export const memoryArtifacts = (faults: Faults = {}): MemoryArtifacts => {
  const objects = new Map<string, Uint8Array>()
  return {
    objects,
    put: (key, bytes) =>
      around(faults, 'put', key, () => {
        const old = objects.get(key)
        if (old && Buffer.compare(old, bytes) !== 0)
          throw new LoopError('StoreConflict', `The object ${key} exists and holds something else.`)
        objects.set(key, new Uint8Array(bytes))
      }),
    get: (key) => around(faults, 'get', key, () => objects.get(key) ?? null),
    deleteAll: (prefix) =>
      around(faults, 'deleteAll', prefix, () => {
        for (const key of objects.keys()) if (key.startsWith(prefix)) objects.delete(key)
      }),
  }
}
