/**
 * Files below one folder, and none outside it. Every folder on the way is opened by itself, from the one before and never through
 * a link, and held while the file in it is used: what is swapped in between is not followed.
 */
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, rename, rmdir, unlink, type FileHandle } from 'node:fs/promises'
import { LoopError } from '../loop/errors.ts'
import { checkedPath } from './paths.ts'

const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
/** Without O_NONBLOCK, opening a pipe would wait for ever. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '')
const isAbsent = (error: unknown): boolean => codeOf(error) === 'ENOENT'

const outside = (path: string, why: string): LoopError =>
  new LoopError('OutsideWorkspace', `${JSON.stringify(path.slice(0, 200))} ${why}`, { path: path.slice(0, 200) })

/** A name in a folder that is held open. */
const inside = (folder: FileHandle, name: string): string => `/proc/self/fd/${folder.fd}/${name}`

/** Opens the folder that a path lies in. Null where a folder on the way is missing and not to be made. */
const openFolder = async (root: string, path: string, segments: readonly string[], make: boolean): Promise<FileHandle | null> => {
  let folder = await open(root, FOLDER)
  for (const segment of segments) {
    const next = inside(folder, segment)
    try {
      if (make) await mkdir(next).catch((error: unknown) => (codeOf(error) === 'EEXIST' ? undefined : Promise.reject(error)))
      const opened = await open(next, FOLDER)
      await folder.close()
      folder = opened
    } catch (error) {
      const link = (await lstat(next).catch(() => null))?.isSymbolicLink() ?? false
      await folder.close()
      if (link) throw outside(path, 'leads through a symbolic link')
      if (isAbsent(error)) return null
      if (codeOf(error) !== 'ENOTDIR') throw error
      if (make) throw new LoopError('EditRefused', `${JSON.stringify(path)}: a file stands where a folder would have to be`)
      return null
    }
  }
  return folder
}

/** Runs `use` with the folder of a path held open and the path's last name. */
const held = async <T>(
  root: string,
  path: string,
  make: boolean,
  use: (folder: FileHandle, name: string) => Promise<T>,
): Promise<T | null> => {
  const segments = checkedPath(path)
  const folder = await openFolder(root, path, segments.slice(0, -1), make)
  if (!folder) return null
  try {
    return await use(folder, segments.at(-1)!)
  } finally {
    await folder.close()
  }
}

export interface ConfinedFile {
  bytes: Buffer
  executable: boolean
}

/**
 * A regular file; null where there is none.
 * Errors: OutsideWorkspace (by its path, or through a symbolic link), ChangeTooLarge.
 */
export const readConfined = (root: string, path: string, maxBytes: number): Promise<ConfinedFile | null> =>
  held(root, path, false, async (folder, name) => {
    const file = await open(inside(folder, name), READ).catch((error: unknown) => {
      if (isAbsent(error) || codeOf(error) === 'ENXIO') return null
      throw codeOf(error) === 'ELOOP' ? outside(path, 'is a symbolic link') : error
    })
    if (!file) return null
    try {
      const found = await file.stat()
      if (!found.isFile()) return null
      if (found.size > maxBytes) {
        throw new LoopError('ChangeTooLarge', `${JSON.stringify(path)} has ${found.size} bytes, more than ${maxBytes}`, {
          path,
          bytes: found.size,
        })
      }
      return { bytes: await file.readFile(), executable: (found.mode & 0o100) !== 0 }
    } finally {
      await file.close()
    }
  })

/**
 * Creates or replaces a file at once: it has its old content or its new one, never part of it. Without `executable` it keeps its mode.
 * Errors: OutsideWorkspace, EditRefused (a folder or a special file stands there).
 */
export const writeConfined = async (root: string, path: string, bytes: Uint8Array, executable?: boolean): Promise<void> => {
  await held(root, path, true, async (folder, name) => {
    const target = inside(folder, name)
    const before = await lstat(target).catch((error: unknown) => (isAbsent(error) ? null : Promise.reject(error)))
    if (before?.isSymbolicLink()) throw outside(path, 'is a symbolic link')
    if (before && !before.isFile()) throw new LoopError('EditRefused', `${JSON.stringify(path)} is no regular file`)
    const mode = (executable ?? ((before?.mode ?? 0) & 0o100) !== 0) ? 0o755 : 0o644
    const temporary = inside(folder, `.reviewloop-${randomUUID()}`)
    const file = await open(temporary, CREATE, mode)
    try {
      await file.writeFile(bytes)
      await file.chmod(mode)
      await file.close()
      await rename(temporary, target)
    } catch (error) {
      await file.close().catch(() => undefined)
      await unlink(temporary).catch(() => undefined)
      throw error
    }
  })
}

/** Removes a file, and the folders that it leaves empty; nothing there is no error. Errors: OutsideWorkspace, EditRefused. */
export const removeConfined = async (root: string, path: string): Promise<void> => {
  const removed = await held(root, path, false, async (folder, name) => {
    const target = inside(folder, name)
    const before = await lstat(target).catch((error: unknown) => (isAbsent(error) ? null : Promise.reject(error)))
    if (!before) return false
    if (before.isSymbolicLink()) throw outside(path, 'is a symbolic link')
    if (!before.isFile()) throw new LoopError('EditRefused', `${JSON.stringify(path)} is no regular file`)
    await unlink(target)
    return true
  })
  if (!removed) return
  for (const parents = path.split('/').slice(0, -1); parents.length > 0; parents.pop()) {
    const gone = await held(root, parents.join('/'), false, (folder, name) =>
      rmdir(inside(folder, name)).then(
        () => true,
        () => false,
      ),
    )
    if (!gone) return
  }
}
