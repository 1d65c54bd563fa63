/** Immutable objects in a folder that only its owner can read: the embedded engine's bucket. */
import { randomUUID } from 'node:crypto'
import { link, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { ArtifactStore } from '../../loop/ports.ts'
import { checkKey, checkPrefix, conflict, sameBytes } from '../artifact-key.ts'
import { callStore } from '../store-errors.ts'

const hasCode = (error: unknown, ...codes: string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code))

const orNull =
  (...codes: string[]) =>
  (error: unknown): null => {
    if (hasCode(error, ...codes)) return null
    throw error
  }

export const directoryArtifacts = (root: string): ArtifactStore => {
  const get = (key: string): Promise<Uint8Array | null> => readFile(join(root, checkKey(key))).catch(orNull('ENOENT', 'ENOTDIR', 'EISDIR'))

  /** Linked under its name only when it is whole; the name of a half-written one is no key, so nobody can ask for it. */
  const put = async (key: string, bytes: Uint8Array): Promise<void> => {
    const path = join(root, checkKey(key))
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    const draft = join(dirname(path), `.${randomUUID()}`)
    try {
      await writeFile(draft, bytes, { mode: 0o600, flag: 'wx' })
      const taken = await link(draft, path).then(
        () => false,
        (error: unknown) => orNull('EEXIST')(error) === null,
      )
      if (taken && !sameBytes(await get(key), bytes)) throw conflict(key)
    } finally {
      await rm(draft, { force: true })
    }
  }

  const deleteAll = async (prefix: string): Promise<void> => {
    const end = checkPrefix(prefix).lastIndexOf('/') + 1
    const folder = join(root, prefix.slice(0, end))
    const names = (await readdir(folder).catch(orNull('ENOENT', 'ENOTDIR'))) ?? []
    for (const name of names.filter((found) => found.startsWith(prefix.slice(end))))
      await rm(join(folder, name), { recursive: true, force: true })
    if (end === prefix.length) await rm(folder, { recursive: true, force: true })
  }

  return {
    put: (key, bytes) => callStore(`Storing ${key}`, () => put(key, bytes)),
    get: (key) => callStore(`Reading ${key}`, () => get(key)),
    deleteAll: (prefix) => callStore(`Deleting ${prefix}`, () => deleteAll(prefix)),
  }
}
