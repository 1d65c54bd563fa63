/** Processes of this machine, by what they see around them. */
import { readdir, readFile } from 'node:fs/promises'

/** Ids of those whose environment holds a text. */
export const processesKnowing = async (text: string): Promise<string[]> => {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    pids.map(async (pid) => ((await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')).includes(text) ? [pid] : [])),
  )
  return found.flat()
}
