/** Choices from a seed: the same seed, the same choices, on every machine. */
export interface Random {
  /** 0 ≤ x < 1 */
  next(): number
  /** Integer, `from` ≤ x ≤ `to`. */
  int(from: number, to: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
  /** One of the keys, by weight; a weight of 0 is never chosen. */
  weighted<K extends string>(weights: Readonly<Partial<Record<K, number>>>): K
}

/** mulberry32 over a mixed seed, so that neighbouring seeds have nothing in common. */
export const randomFrom = (seed: number): Random => {
  let state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ (seed >>> 13)
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  const int = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1))
  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: <T>(items: readonly T[]): T => items[int(0, items.length - 1)] as T,
    weighted: <K extends string>(weights: Readonly<Partial<Record<K, number>>>): K => {
      const entries = Object.entries(weights) as [K, number][]
      let left = next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [key, weight] of entries) {
        left -= weight
        if (left < 0) return key
      }
      return (entries.findLast(([, weight]) => weight > 0) as [K, number])[0]
    },
  }
}
