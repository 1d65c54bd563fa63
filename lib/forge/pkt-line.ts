/** git's packet lines, and the list of refs that a server opens with. Pure. */
import { LoopError } from '../loop/errors.ts'

const bad = (why: string): never => {
  throw new LoopError('FetchFailed', `the server does not speak git's protocol: ${why}`)
}

export interface RefReader {
  /** Takes bytes as they come; answers true once it knows the answer. */
  push(chunk: Buffer): boolean
  /** Commit of the ref that was sought; null where the list ended without it. Errors: FetchFailed where it was cut off. */
  end(): string | null
}

/** Reads `info/refs` (protocol version 0) until it shows the ref, or ends. */
export const refReader = (ref: string): RefReader => {
  let rest: Buffer = Buffer.alloc(0)
  let found: string | null = null
  let flushes = 0
  let first = true

  const isDone = (): boolean => found !== null || flushes >= 2
  const take = (line: string): void => {
    if (first && line === '# service=git-upload-pack') return
    if (line.startsWith('ERR ')) return bad(line.slice(4, 200))
    first = false
    const match = /^([0-9a-f]{40}) ([^\0]+)/.exec(line) ?? bad('a line is no ref')
    if (match[2] === ref) found = match[1]!
  }
  return {
    push: (chunk) => {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      while (!isDone() && rest.length >= 4) {
        const header = rest.toString('latin1', 0, 4)
        if (!/^[0-9a-f]{4}$/i.test(header)) return bad('a length is missing')
        const length = Number.parseInt(header, 16)
        if (length > 0 && length < 4) return bad('a length is impossible')
        if (rest.length < length) break
        // The first flush ends the name of the service, the second the list.
        if (length === 0) flushes++
        else take(rest.toString('utf8', 4, length).replace(/\n$/, ''))
        rest = rest.subarray(Math.max(length, 4))
      }
      return isDone()
    },
    end: () => (isDone() ? found : bad('its list of branches is cut off')),
  }
}
