/** What an agent keeps of its sessions on disk: taken from its HOME when a turn ends, and laid out in that of the turn that resumes. */
import { chmod, mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { dirname, join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { gunzip, gzip } from 'node:zlib'
import type { FileEntry } from './entries.ts'
import { isBelowHome } from './settings.ts'

const compress = promisify(gzip)
const expand = promisify(gunzip)

/** Bytes of all state together, before they are compressed. */
const MOST_STATE = 100_000_000

export interface StatePlaces {
  /** Paths below HOME: what lies at or below one of them travels. */
  state: readonly string[]
  /** Files of HOME that are the deployment's own: what an agent makes of them does not. */
  files: Readonly<Record<string, string>>
}

/** Regular files below `home` that travel; null where they are too large. */
export const packState = async (home: string, { state, files: own }: StatePlaces): Promise<FileEntry[] | null> => {
  const found = (await Promise.all(state.map((path) => filesAt(home, path)))).flat()
  const files = [...new Set(found)].filter((path) => !Object.hasOwn(own, path)).toSorted()
  const entries: FileEntry[] = []
  let left = MOST_STATE
  for (const path of files) {
    const { mode, size } = await stat(join(home, path))
    left -= size
    if (left < 0) return null
    const bytes = await readFile(join(home, path))
    entries.push({ type: 'file', path, isExecutable: (mode & 0o100) !== 0, content: (await compress(bytes)).toString('base64') })
  }
  return entries
}

const filesAt = async (home: string, path: string): Promise<string[]> => {
  const at = join(home, path)
  const found = await stat(at).catch(() => null)
  if (found?.isFile()) return [path]
  if (!found?.isDirectory()) return []
  const entries = await readdir(at, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => relative(home, join(entry.parentPath, entry.name)).split(sep).join('/'))
}

/** Lays the files out. Gives what is wrong with them where they cannot be: a path that was not named, content that is damaged. */
export const unpackState = async (home: string, { state, files }: StatePlaces, entries: readonly FileEntry[]): Promise<string | null> => {
  let left = MOST_STATE
  for (const { path, isExecutable, content } of entries) {
    const isBelow = isBelowHome(path) && state.some((named) => path === named || path.startsWith(`${named}/`))
    const isNamed = isBelow && !Object.hasOwn(files, path)
    if (!isNamed) return 'its state has a file that is not among the paths named for this agent'
    const bytes = await expand(Buffer.from(content, 'base64'), { maxOutputLength: Math.max(1, left) }).catch(() => null)
    if (!bytes) return 'its state is damaged'
    left -= bytes.length
    const target = join(home, path)
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    await writeFile(target, bytes, { mode: 0o600 })
    if (isExecutable) await chmod(target, 0o700)
  }
  return null
}
