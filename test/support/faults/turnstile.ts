/**
 * One at a time. Of those who wait, the seed chooses, once everybody who is about to come is there: so what happens in a world depends
 * neither on who was quick nor on how busy the machine is, and a seed can be played again.
 */
import { setImmediate as breathe, setTimeout as sleep } from 'node:timers/promises'
import type { Chance } from './chance.ts'

interface Waiting {
  name: string
  /** The lowest goes first. */
  place: number
  /** From outside of any worker. */
  outside: boolean
  go: () => Promise<void>
}

/** Longer than the engine takes to try a state again. */
const CROWD_MS = 2

export class Turnstile {
  readonly #chance: Chance
  /** Whether several go on at the same time. */
  readonly #crowded: () => boolean
  readonly #waiting: Waiting[] = []
  readonly #looking: (() => Promise<void>)[] = []
  readonly #came = new Map<string, number>()
  #open = false
  /** The turn that is being taken; null in between. */
  turn: number | null = null
  #turns = 0

  constructor(chance: Chance, crowded: () => boolean) {
    this.#chance = chance
    this.#crowded = crowded
  }

  /** `name` is unlike those of all others who may wait at the same time, as far as that matters. */
  run<T>(name: string, outside: boolean, act: () => Promise<T>): Promise<T> {
    const nth = this.#came.get(name) ?? 0
    this.#came.set(name, nth + 1)
    const place = this.#chance.number('place', name, nth)
    return this.#queue(act, (go) => this.#waiting.push({ name, place, outside, go }))
  }

  /** Once nobody waits, and counted by nobody: for those who look again and again as the machine's own time goes by. */
  look<T>(act: () => Promise<T>): Promise<T> {
    return this.#queue(act, (go) => this.#looking.push(go))
  }

  #queue<T>(act: () => Promise<T>, add: (go: () => Promise<void>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      add(() => act().then(resolve, reject))
      if (!this.#open) void this.#serve()
    })
  }

  async #serve(): Promise<void> {
    this.#open = true
    while (this.#waiting.length + this.#looking.length > 0) {
      // An execution may be between two states, or about to try one again, while somebody from outside waits.
      if (this.#crowded() || this.#waiting.every(({ outside }) => outside)) await sleep(CROWD_MS)
      await breathe()
      if (this.#waiting.length === 0) await this.#looking.shift()?.()
      else await this.#next()
    }
    this.#open = false
  }

  async #next(): Promise<void> {
    const [first] = this.#waiting.toSorted((a, b) => a.place - b.place)
    if (!first) return
    this.#waiting.splice(this.#waiting.indexOf(first), 1)
    this.turn = ++this.#turns
    await first.go()
    this.turn = null
  }
}
