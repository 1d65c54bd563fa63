/** The tools that agents read and edit files with. They see the workspace and nothing else. */
import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { LoopError } from '../loop/errors.ts'
import type { EditFiles, ReadFiles } from '../loop/workspace.ts'
import { readConfined, removeConfined, writeConfined } from './confined.ts'
import { pathProblem } from './paths.ts'

const MAX_BYTES = 10 * 1024 * 1024
const LFS_POINTER = Buffer.from('version https://git-lfs.github.com/spec/')

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Reading below `root`. */
export const readFiles = (root: string): ReadFiles => ({
  list: async () => {
    const entries: Dirent[] = await readdir(root, { recursive: true, withFileTypes: true })
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join('/'))
      .filter((path) => pathProblem(path) === null)
      .toSorted(compare)
  },
  read: async (path, maxBytes = MAX_BYTES) => (await readConfined(root, path, maxBytes))?.bytes ?? null,
})

export interface EditRules {
  /** Why a file may not be edited, whatever is to stand in it; null where it may. */
  refusal(path: string): Promise<string | null>
  /** Told of every file that was written. */
  onWrite(path: string): void
}

/** True for a file that only points at its content, which is kept elsewhere. */
export const isLfsPointer = (bytes: Uint8Array): boolean => LFS_POINTER.equals(bytes.subarray(0, LFS_POINTER.length))

/**
 * Editing below `root`. Bytes are written as they are given: line ends are nobody's business here.
 * Errors: OutsideWorkspace, EditRefused, ChangeTooLarge.
 */
export const editFiles = (root: string, rules: EditRules): EditFiles => {
  const check = async (path: string): Promise<Buffer | null> => {
    // The path is checked first: rules ask git about it.
    const present = await readConfined(root, path, Number.MAX_SAFE_INTEGER)
    const why = (await rules.refusal(path)) ?? (present && isLfsPointer(present.bytes) ? 'is a Git LFS pointer' : null)
    if (why) throw new LoopError('EditRefused', `${JSON.stringify(path)} ${why}`, { path })
    return present?.bytes ?? null
  }
  const write = async (path: string, bytes: Uint8Array): Promise<void> => {
    await writeConfined(root, path, bytes)
    rules.onWrite(path)
  }
  return {
    write: async (path, bytes) => {
      await check(path)
      await write(path, bytes)
    },
    edit: async (path, before, after) => {
      const bytes = await check(path)
      if (!bytes) throw new LoopError('EditRefused', `${JSON.stringify(path)} does not exist`, { path })
      const sought = Buffer.from(before)
      const at = sought.length === 0 ? -1 : bytes.indexOf(sought)
      if (at < 0) throw new LoopError('EditRefused', `the text to replace stands nowhere in ${JSON.stringify(path)}`, { path })
      if (bytes.indexOf(sought, at + 1) >= 0) {
        throw new LoopError('EditRefused', `the text to replace stands more than once in ${JSON.stringify(path)}`, { path })
      }
      await write(path, Buffer.concat([bytes.subarray(0, at), Buffer.from(after), bytes.subarray(at + sought.length)]))
    },
    remove: async (path) => {
      await check(path)
      await removeConfined(root, path)
    },
  }
}
