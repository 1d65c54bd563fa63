/** Chance without a sequence: what is drawn for one thing depends on the seed and on its name, so that nothing else moves it. */
import { createHash } from 'node:crypto'

type Label = string | number

export class Chance {
  readonly seed: number

  constructor(seed: number) {
    this.seed = seed
  }

  /** In [0, 1). */
  number(...labels: Label[]): number {
    const digest = createHash('sha1')
      .update(JSON.stringify([this.seed, ...labels]))
      .digest()
    return digest.readUIntBE(0, 6) / 2 ** 48
  }

  happens(probability: number, ...labels: Label[]): boolean {
    return this.number(...labels) < probability
  }

  /** Both ends included. */
  int(from: number, to: number, ...labels: Label[]): number {
    return from + Math.floor(this.number(...labels) * (to - from + 1))
  }

  pick<T>(items: readonly [T, ...T[]], ...labels: Label[]): T {
    return items[this.int(0, items.length - 1, ...labels)] ?? items[0]
  }

  /** A key, as often as its weight says; at least one weight is above zero. */
  weighted<K extends string>(weights: Readonly<Partial<Record<K, number>>>, ...labels: Label[]): K {
    const entries = (Object.entries(weights) as [K, number][]).filter(([, weight]) => weight > 0)
    let left = this.number(...labels) * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [key, weight] of entries) {
      left -= weight
      if (left < 0) return key
    }
    return entries.at(-1)![0]
  }
}
