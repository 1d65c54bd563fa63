/** Watches the memory of a process and of those that it started. Read from /proc, so on Linux only: elsewhere nothing is watched. */
import { readFile } from 'node:fs/promises'

const EVERY_MS = 100
/** git starts helpers, and they start helpers; nothing of it goes deeper. */
const DEEPEST = 4

const read = (path: string): Promise<string> => readFile(path, 'latin1').catch(() => '')

/** Bytes of a process that are its own and no file's, and those of its children. A process that is gone has none. */
const bytesOf = async (pid: number, depth = 0): Promise<number> => {
  const [status, children] = await Promise.all([read(`/proc/${pid}/status`), read(`/proc/${pid}/task/${pid}/children`)])
  const own = Number(/^RssAnon:\s*(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024
  if (depth === DEEPEST) return own
  const below = await Promise.all(
    children
      .split(' ')
      .filter(Boolean)
      .map((child) => bytesOf(Number(child), depth + 1)),
  )
  return below.reduce((sum, bytes) => sum + bytes, own)
}

/** Calls `onOver` once the processes hold more than `limit` bytes. Gives what ends the watch. */
export const watchMemory = (pid: number, limit: number, onOver: () => void): (() => void) => {
  let looking = false
  let over = false
  const look = async (): Promise<void> => {
    if (looking || over) return
    looking = true
    over = (await bytesOf(pid)) > limit
    looking = false
    if (over) onOver()
  }
  const timer = setInterval(() => void look(), EVERY_MS)
  return () => {
    over = true
    clearInterval(timer)
  }
}
