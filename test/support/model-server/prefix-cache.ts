/** A provider's prompt cache, as far as its accounts go: what stands before a cache point is written, and read when it comes again. */
import { createHash } from 'node:crypto'
import type { ConverseCommandInput } from '@aws-sdk/client-bedrock-runtime'

type Request = Pick<ConverseCommandInput, 'messages' | 'system' | 'toolConfig'>

/** Characters of a token. */
const TOKEN = 4

/** Everything the model is given, in the order in which it is read; `null` stands for a cache point. */
const pieces = ({ toolConfig, system, messages }: Request): (string | null)[] => [
  ...(toolConfig?.tools ?? []).map((tool) => ('cachePoint' in tool && tool.cachePoint ? null : JSON.stringify(tool))),
  ...(system ?? []).map((block) => ('cachePoint' in block && block.cachePoint ? null : JSON.stringify(block))),
  ...(messages ?? []).flatMap(({ role, content }) => [
    `[${role}]`,
    ...(content ?? []).map((block) => (block.cachePoint ? null : JSON.stringify(block))),
  ]),
]

/** The request as one text, without its cache points, which are marks and no part of it. */
export const promptText = (request: Request): string =>
  pieces(request)
    .filter((piece) => piece !== null)
    .map((piece) => `${piece}\n`)
    .join('')

export class PrefixCache {
  /** ms; a hit makes an entry last as long again. */
  lifetime = 5 * 60_000
  /** Tokens below which nothing is cached. */
  shortest = 0
  /** Some providers find what they keep at any point of a request, and not at those alone that the request marks. */
  looksBack = false
  now: () => number = () => Date.now()
  readonly #until = new Map<string, number>()

  use(request: Request): { inputTokens: number; cacheReadInputTokens: number; cacheWriteInputTokens: number } {
    const hash = createHash('sha256')
    let length = 0
    let read = 0
    let last = 0
    for (const piece of pieces(request)) {
      if (piece !== null) {
        hash.update(`${piece}\n`)
        length += piece.length + 1
        if (this.looksBack && (this.#until.get(hash.copy().digest('hex')) ?? 0) > this.now()) read = Math.ceil(length / TOKEN)
        continue
      }
      const tokens = Math.ceil(length / TOKEN)
      if (tokens < this.shortest) continue
      const key = hash.copy().digest('hex')
      if ((this.#until.get(key) ?? 0) > this.now()) read = tokens
      this.#until.set(key, this.now() + this.lifetime)
      last = tokens
    }
    return { inputTokens: Math.ceil(length / TOKEN) - last, cacheReadInputTokens: read, cacheWriteInputTokens: last - read }
  }

  clear(): void {
    this.#until.clear()
  }
}
