import { mkdir } from 'node:fs/promises'
import { ClassicLevel } from 'classic-level'

export interface FolderLock {
  release(): Promise<void>
}

/**
 * Takes the lock of a folder: LevelDB's, which is one of the operating system (fcntl, LockFileEx) and so ends with its process, however
 * that ends, and is not inherited by children. null where another process, or this one, holds it.
 */
export const lockFolder = async (path: string): Promise<FolderLock | null> => {
  await mkdir(path, { recursive: true, mode: 0o700 })
  const level = new ClassicLevel(path)
  try {
    await level.open()
  } catch (error) {
    const cause = error instanceof Error ? error.cause : undefined
    if (cause instanceof Error && 'code' in cause && cause.code === 'LEVEL_LOCKED') return null
    throw cause instanceof Error ? cause : error
  }
  return { release: () => level.close() }
}
