/** Packages that tests need and nobody else: what a lock file names, installed on first use into a folder below node_modules/.cache. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const CACHE = fileURLToPath(new URL('../../node_modules/.cache/reviewloop', import.meta.url))

/** The folder for the packages that the lock file in `source` names: other versions are another folder. */
export const cacheFolder = (source: string, name: string): string => {
  const lock = readFileSync(join(source, 'package-lock.json'))
  return join(CACHE, `${name}-${createHash('sha256').update(lock).digest('hex').slice(0, 12)}`)
}

export interface Installation {
  /** Folder with the package.json and its lock file. */
  source: string
  /** Where the packages are to be: `cacheFolder`. */
  folder: string
  /** What is said first: it may take a while. */
  says: string
  /** Run in a copy of the source. What it prints is seen. */
  command: readonly [string, ...string[]]
}

/** What is in the folder is whole: it is installed beside and moved into place. */
export const installOnce = async ({ source, folder, says, command: [program, ...args] }: Installation): Promise<void> => {
  if (existsSync(folder)) return
  console.log(`── ${says}`)
  await mkdir(CACHE, { recursive: true })
  const draft = await mkdtemp(join(CACHE, 'draft-'))
  try {
    await cp(source, draft, { recursive: true, filter: (file) => basename(file) !== 'node_modules' })
    const env = { ...process.env, npm_config_loglevel: 'http' }
    const child = spawn(program, args, { cwd: draft, stdio: ['ignore', 'inherit', 'inherit'], env })
    const [code] = (await once(child, 'close')) as [number | null]
    if (code !== 0) throw new Error(`the packages cannot be installed: npm ended with ${code}`)
    // Somebody else may have been as quick: then theirs is as good.
    await rename(draft, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}
