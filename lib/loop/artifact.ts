/** JSON objects in the artifact store, checked on the way in and out. */
import type * as z from 'zod'
import { LoopError } from './errors.ts'
import type { ArtifactStore } from './ports.ts'

/** Errors: ArtifactLost where the object is missing or does not fit its schema. */
export const readBytes = async (artifacts: ArtifactStore, key: string): Promise<Uint8Array> => {
  const bytes = await artifacts.get(key)
  if (!bytes) throw new LoopError('ArtifactLost', `The object ${key} is missing.`, { key })
  return bytes
}

/** Errors: ArtifactLost. */
export const readJson = async <T>(artifacts: ArtifactStore, key: string, schema: z.ZodType<T>): Promise<T> => {
  const bytes = await readBytes(artifacts, key)
  let value: unknown
  try {
    value = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (cause) {
    throw new LoopError('ArtifactLost', `The object ${key} is not JSON.`, { key }, { cause })
  }
  const parsed = schema.safeParse(value)
  if (!parsed.success) throw new LoopError('ArtifactLost', `The object ${key} does not fit its schema.`, { key }, { cause: parsed.error })
  return parsed.data
}

export const writeJson = (artifacts: ArtifactStore, key: string, value: unknown): Promise<void> =>
  artifacts.put(key, new TextEncoder().encode(JSON.stringify(value)))
