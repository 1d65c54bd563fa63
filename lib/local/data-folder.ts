/**
 * The data folder: tables, artifacts and the lock. One process owns it, by a lock of the operating system that dies with the process,
 * and serves the tables on a private socket; other processes use that socket.
 */
import { randomUUID } from 'node:crypto'
import { chmod, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import * as z from 'zod'
import { LoopError } from '../loop/errors.ts'
import { lockFolder, type FolderLock } from './folder-lock.ts'
import { socketPath } from './data-path.ts'
import { answers, serveTables } from './table-server.ts'

const engineFile = z.object({ pid: z.int(), socket: z.string(), startedAt: z.string(), id: z.string() })
/** What `engine.json` says of the process that owns the folder. */
export type EngineFile = z.infer<typeof engineFile>

export interface DataFolder {
  path: string
  /** Folder of the artifacts. */
  artifacts: string
  /** Unix socket (or named pipe) where the tables are served. */
  socket: string
  /** True where this process owns the folder and may run executions. */
  owned: boolean
  /** The engine that this process is: the owner of the leases it takes. */
  id: string
  /** The owner: this process, or the one whose socket is used. */
  owner: EngineFile
  /** Gives the folder up; as a guest, does nothing. */
  close(): Promise<void>
}

const LAYOUT = '1\n'
/** What may lie in a folder that is just becoming a data folder. */
const BEFORE_VERSION = ['lock', 'version.new']
const STARTING_MS = 5000
const files = (path: string) => ({
  version: join(path, 'version'),
  lock: join(path, 'lock'),
  tables: join(path, 'tables'),
  artifacts: join(path, 'artifacts'),
  engine: join(path, 'engine.json'),
})

const code = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

const unusable = (path: string, why: string): LoopError =>
  new LoopError('BadRequest', `The data folder ${path} cannot be used: ${why}`, { path })

/** Makes the folder, private to the user. A folder that holds something else is refused, so that `--data .` harms nothing. */
const prepareFolder = async (path: string): Promise<void> => {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
    const version = await readFile(files(path).version, 'utf8').catch(() => null)
    if (version !== null && version !== LAYOUT)
      throw unusable(path, `it has layout ${version.trim()}, this program writes ${LAYOUT.trim()}`)
    if (version === null) {
      const held = (await readdir(path)).filter((name) => !BEFORE_VERSION.includes(name))
      // `version` among them: another process has just made it
      if (held.length > 0 && !held.includes('version'))
        throw unusable(path, `it holds files that are not of reviewloop (${held[0]}); name an empty or a new folder`)
      await writeFile(`${files(path).version}.new`, LAYOUT)
      await rename(`${files(path).version}.new`, files(path).version).catch((error: unknown) => {
        // another process came first with the same
        if (code(error) !== 'ENOENT') throw error
      })
    }
    await chmod(path, 0o700)
  } catch (error) {
    throw error instanceof LoopError ? error : unusable(path, error instanceof Error ? error.message : String(error))
  }
}

/** Whether anything may be in it: false where the path is free, or holds an empty folder. Nothing is made. */
export const isDataFolder = async (path: string): Promise<boolean> => {
  try {
    return (await readdir(path)).some((name) => !BEFORE_VERSION.includes(name))
  } catch (error) {
    // what else is wrong with the path is said when it is opened
    return code(error) !== 'ENOENT'
  }
}

/** What `engine.json` says, or null where there is none (or half of one). */
export const readEngineFile = async (path: string): Promise<EngineFile | null> => {
  try {
    return engineFile.parse(JSON.parse(await readFile(files(path).engine, 'utf8')))
  } catch {
    return null
  }
}

/** Takes away what an owner that was killed left behind: its socket, and its workspaces. Only called under the lock. */
const sweep = async (path: string): Promise<void> => {
  const left = await readEngineFile(path)
  await rm(files(path).engine, { force: true })
  await rm(join(path, 'engine.sock'), { force: true })
  await rm(join(path, 'scratch'), { recursive: true, force: true })
  if (left && /^reviewloop-[0-9a-f]{16}$/.test(basename(dirname(left.socket))))
    await rm(dirname(left.socket), { recursive: true, force: true })
}

const serve = async (path: string, lock: FolderLock): Promise<DataFolder> => {
  try {
    await sweep(path)
    const id = randomUUID()
    const { socket, privateFolder } = socketPath(path, id)
    if (privateFolder) await mkdir(privateFolder, { mode: 0o700 })
    await mkdir(files(path).artifacts, { recursive: true, mode: 0o700 })
    const server = await serveTables(files(path).tables, socket)
    const owner: EngineFile = { pid: process.pid, socket, startedAt: new Date().toISOString(), id }
    await writeFile(`${files(path).engine}.new`, `${JSON.stringify(owner)}\n`, { mode: 0o600 })
    await rename(`${files(path).engine}.new`, files(path).engine)
    let closing: Promise<void> | null = null
    const close = async (): Promise<void> => {
      await rm(files(path).engine, { force: true })
      await server.close()
      if (privateFolder) await rm(privateFolder, { recursive: true, force: true })
      await lock.release()
    }
    return { path, artifacts: files(path).artifacts, socket, owned: true, id, owner, close: () => (closing ??= close()) }
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** Owns the folder, or throws `DataFolderBusy` with the owner's pid. */
export const ownDataFolder = async (path: string): Promise<DataFolder> => {
  await prepareFolder(path)
  const lock = await lockFolder(files(path).lock)
  if (lock) return serve(path, lock)
  const owner = await readEngineFile(path)
  throw new LoopError('DataFolderBusy', `The data folder ${path} is owned by ${owner ? `process ${owner.pid}` : 'another process'}.`, {
    path,
    pid: owner?.pid ?? null,
  })
}

const asGuest = async (path: string): Promise<DataFolder | null> => {
  const owner = await readEngineFile(path)
  if (!owner || !(await answers(owner.socket))) return null
  return {
    path,
    artifacts: files(path).artifacts,
    socket: owner.socket,
    owned: false,
    id: randomUUID(),
    owner,
    close: async () => {},
  }
}

/**
 * Owns the folder where nobody does, else uses the owner's socket. An owner that is just starting or just ending is waited for,
 * five seconds at most; then `DataFolderBusy`.
 */
export const openDataFolder = async (path: string): Promise<DataFolder> => {
  const until = Date.now() + STARTING_MS
  for (;;) {
    try {
      return await ownDataFolder(path)
    } catch (error) {
      if (!(error instanceof LoopError) || error.name !== 'DataFolderBusy') throw error
      const guest = await asGuest(path)
      if (guest) return guest
      if (Date.now() > until) throw error
    }
    await sleep(50)
  }
}
