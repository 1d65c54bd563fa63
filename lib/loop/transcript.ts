/** A session's transcript: JSON lines. The stored object is immutable; a turn works on a copy and stores a new one. */
import { createHash } from 'node:crypto'
import type { Transcript } from './agent.ts'
import type { ArtifactStore } from './ports.ts'

/** Bytes past which a transcript is neither stored nor loaded. */
export const MAX_TRANSCRIPT_BYTES = 20_000_000

export const checksumOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

const encoder = new TextEncoder()

export class TranscriptCopy implements Transcript {
  #lines: string[]
  #size: number

  constructor(lines: readonly string[] = []) {
    this.#lines = [...lines]
    this.#size = lines.reduce((size, line) => size + encoder.encode(line).length + 1, 0)
  }

  /** Keeps the entry as it is now: what the agent does to the object later changes nothing. */
  append(entry: unknown): void {
    const line = JSON.stringify(entry) ?? 'null'
    this.#lines.push(line)
    this.#size += encoder.encode(line).length + 1
  }

  history(): readonly unknown[] {
    return this.#lines.map((line): unknown => JSON.parse(line))
  }

  reset(): void {
    this.#lines = []
    this.#size = 0
  }

  /** Small enough to be stored. */
  get storable(): boolean {
    return this.#size <= MAX_TRANSCRIPT_BYTES
  }

  bytes(): Uint8Array {
    return encoder.encode(this.#lines.map((line) => `${line}\n`).join(''))
  }
}

/** A working copy of a stored transcript; `lost` says why there is none: the session it belongs to is dead. */
export const loadTranscript = async (
  artifacts: Pick<ArtifactStore, 'get'>,
  { transcript: key, checksum }: { transcript: string; checksum: string },
): Promise<{ transcript: TranscriptCopy } | { lost: string }> => {
  const bytes = await artifacts.get(key)
  if (!bytes) return { lost: 'its transcript is missing' }
  if (bytes.length > MAX_TRANSCRIPT_BYTES) return { lost: 'its transcript is too large' }
  if (checksumOf(bytes) !== checksum) return { lost: 'its transcript was altered' }
  // The checksum says that these are the lines that were stored, so they parse.
  const lines = new TextDecoder().decode(bytes).split('\n')
  return { transcript: new TranscriptCopy(lines.slice(0, -1)) }
}
