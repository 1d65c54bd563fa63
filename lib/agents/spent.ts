/** What a call of an agent used: tokens as the provider counts them, dollars where the deployment says the prices. */
import type { Usage } from '../loop/record.ts'

/** US dollars for a million tokens. */
export interface Prices {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
}

/** Tokens of one call. `plain` are those of the input that the provider's cache had nothing to do with. */
export interface CallTokens {
  plain: number
  output: number
  cacheRead: number
  cacheWrite: number
}

export class SpentMeter {
  readonly #prices: Prices | null
  #calls = 0
  #input = 0
  #output = 0
  #cacheRead = 0
  #cacheWrite = 0
  #dollars = 0

  /** null: dollars are not known. */
  constructor({ prices }: { prices: Prices | null }) {
    this.#prices = prices
  }

  /** A call was made, whatever becomes of it. */
  call(): void {
    this.#calls += 1
  }

  /** Gives the tokens of the whole conversation. */
  add({ plain, output, cacheRead, cacheWrite }: CallTokens): number {
    const input = plain + cacheRead + cacheWrite
    this.#input += input
    this.#output += output
    this.#cacheRead += cacheRead
    this.#cacheWrite += cacheWrite
    if (this.#prices) {
      const prices = this.#prices
      const sum = plain * prices.input + output * prices.output + cacheRead * prices.cacheRead + cacheWrite * prices.cacheWrite
      this.#dollars += sum / 1_000_000
    }
    return input + output
  }

  get calls(): number {
    return this.#calls
  }

  get tokens(): number {
    return this.#input + this.#output
  }

  /** Whether the prices are known. */
  get knowsDollars(): boolean {
    return this.#prices !== null
  }

  get dollars(): number {
    return this.#dollars
  }

  get usage(): Usage {
    return {
      input: this.#input,
      output: this.#output,
      cacheRead: this.#cacheRead,
      cacheWrite: this.#cacheWrite,
      dollars: this.#prices ? this.#dollars : null,
      // The loop counts a turn that was given up before its first call as one.
      calls: Math.max(1, this.#calls),
    }
  }
}
