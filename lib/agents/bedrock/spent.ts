/** What a call of the agent used: tokens as the provider counts them, dollars where the deployment says the prices. */
import type { TokenUsage } from '@aws-sdk/client-bedrock-runtime'
import type { Usage } from '../../loop/record.ts'
import type { BedrockSettings } from './settings.ts'

export class SpentMeter {
  readonly #prices: BedrockSettings['prices']
  #calls = 0
  #input = 0
  #output = 0
  #cacheRead = 0
  #cacheWrite = 0
  #dollars = 0

  constructor({ prices }: Pick<BedrockSettings, 'prices'>) {
    this.#prices = prices
  }

  /** A call was made, whatever becomes of it. */
  call(): void {
    this.#calls += 1
  }

  /** The provider's input tokens are those that its cache had nothing to do with. Gives the tokens of the whole conversation. */
  add({ inputTokens = 0, outputTokens = 0, cacheReadInputTokens = 0, cacheWriteInputTokens = 0 }: Partial<TokenUsage>): number {
    const input = inputTokens + cacheReadInputTokens + cacheWriteInputTokens
    this.#input += input
    this.#output += outputTokens
    this.#cacheRead += cacheReadInputTokens
    this.#cacheWrite += cacheWriteInputTokens
    if (this.#prices) {
      const { input: plain, output, cacheRead, cacheWrite } = this.#prices
      const sum = inputTokens * plain + outputTokens * output + cacheReadInputTokens * cacheRead + cacheWriteInputTokens * cacheWrite
      this.#dollars += sum / 1_000_000
    }
    return input + outputTokens
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
