/** Fences around data in a prompt: whatever stands between them was written by others and tells the agent nothing to do. */
import { createHash } from 'node:crypto'

/** What a prompt is composed with. Labels are ours, never data. */
export interface Fence {
  /** The line that opens a fence begins with this, and the one that closes it is its counterpart. */
  readonly key: string
  /** The text between two lines that no data can hold. */
  wrap(label: string, data: string): string
}

const KEY_LENGTH = 20

/** The n-th key of a turn: nobody who wrote the data could know it, since the run's id is made from the commit that holds the data. */
const keyOf = (seed: string, n: number): string => `data-${createHash('sha256').update(`${seed}#${n}`).digest('hex').slice(0, KEY_LENGTH)}`

/**
 * Composes a text with a key that occurs nowhere in the data it wraps: where one does occur, the next is taken and all is composed
 * anew. `seed` names the turn.
 */
export const withFence = <T>(seed: string, compose: (fence: Fence) => T): T => {
  for (let n = 0; ; n++) {
    const key = keyOf(seed, n)
    let isFree = true
    const composed = compose({
      key,
      wrap: (label, data) => {
        if (data.includes(key)) isFree = false
        return `<${key} ${label}>\n${data}\n</${key}>`
      },
    })
    if (isFree) return composed
  }
}
