/** Objects in memory: immutable, unless a schedule shows what becomes of a store that overwrites. */
import type { ArtifactStore } from '../../../lib/loop/ports.ts'
import type { Worker } from './worker.ts'
import type { World } from './world.ts'

export class Artifacts {
  readonly objects = new Map<string, Uint8Array>()
  readonly #world: World
  readonly #overwrites: boolean

  constructor(world: World, overwrites: boolean) {
    this.#world = world
    this.#overwrites = overwrites
  }

  of(worker: Worker): ArtifactStore {
    const { scheduler, system, monitor } = this.#world
    const lost = () => new system.LoopError('StoreUnavailable', 'no answer')
    const effect = <T>(what: string, writes: boolean, perform: () => T): Promise<T> =>
      scheduler.effect(worker, { what, writes, perform, lost })
    return {
      put: (key, bytes) =>
        effect(`put ${key}`, true, () => {
          const old = this.objects.get(key)
          if (old && Buffer.compare(old, bytes) !== 0 && !this.#overwrites)
            throw new system.LoopError('StoreConflict', `The object ${key} exists and holds something else.`)
          this.objects.set(key, new Uint8Array(bytes))
          monitor.stored(key, bytes)
        }),
      get: (key) => effect(`get ${key}`, false, () => this.objects.get(key) ?? null),
      // What a bucket does: it lists, and then it deletes what it has listed.
      deleteAll: async (prefix) => {
        const keys = await effect(`list ${prefix}`, false, () => [...this.objects.keys()].filter((key) => key.startsWith(prefix)))
        if (!keys.length) return
        await effect(`delete ${prefix}`, true, () => {
          monitor.deleted(prefix)
          for (const key of keys) this.objects.delete(key)
        })
      },
    }
  }
}
