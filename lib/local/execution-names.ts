import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * Names of executions that were used in a data folder, an empty file each. As in Step Functions a name cannot be used again: what was
 * interrupted goes on under a new epoch, and starting the same request again starts nothing.
 */
export const executionNames = (folder: string) => {
  const root = join(folder, 'executions')
  return {
    /** True where the name is new; it is used up by this. */
    claim: async (name: string): Promise<boolean> => {
      await mkdir(root, { recursive: true, mode: 0o700 })
      try {
        await writeFile(join(root, encodeURIComponent(name)), '', { flag: 'wx' })
        return true
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
        throw error
      }
    },
    /** Forgets the names of a run that is cleaned away. */
    forget: async (runId: string): Promise<void> => {
      const names = await readdir(root).catch(() => [])
      for (const name of names.filter((used) => used.startsWith(`${runId}-`))) await rm(join(root, name), { force: true })
    },
  }
}
