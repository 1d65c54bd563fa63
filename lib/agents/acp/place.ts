/**
 * The folder that a session lives in, turn after turn: agents find their sessions by the path they were started in, so it has the same
 * path wherever the session is resumed. It holds an empty HOME and, beside it, a folder without content to start in: the repository
 * is not on disk for the agent, but behind its tools.
 */
import { randomBytes } from 'node:crypto'
import { mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { ENV } from '../../names.ts'
import { openCliHome } from '../cli-home.ts'
import type { AcpSettings } from './settings.ts'

export interface Place extends AsyncDisposable {
  name: string
  home: string
  /** Where the agent is started. There is nothing to be read in it. */
  work: string
  /** For the socket of its tools. */
  socket: string
  environment: Record<string, string>
}

/** Agents written for Node are run by ours: the machine's own may be too old for them. The image has the deployment's agent in a folder of its own. */
const pathOf = ({ PATH, [ENV.agents]: agents }: NodeJS.ProcessEnv): string =>
  [dirname(process.execPath), ...(agents ? [join(agents, 'acp/node_modules/.bin')] : []), ...(PATH ? [PATH] : [])].join(delimiter)

export interface PlaceOptions {
  settings: Pick<AcpSettings, 'environment' | 'files' | 'key'>
  /** Gives the key of the agent's provider, where the settings have a variable for it. */
  key: () => Promise<string>
}

/** Opens the folder of a session, or a new one. Throws an Error where another process is at work in it. */
export const openPlace = async (name: string | null, { settings, key }: PlaceOptions): Promise<Place> => {
  const secrets = settings.key === null ? {} : { [settings.key]: await key() }
  const chosen = name ?? randomBytes(8).toString('hex')
  const folder = join(await realpath(tmpdir()), `reviewloop-acp-${chosen}`)
  await makeOwn(folder)
  // An agent that has just been ended may still be writing.
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
  try {
    const { folder: home, environment } = await openCliHome({
      folder: join(folder, 'home'),
      pass: settings.environment,
      set: () => ({ PATH: pathOf(process.env), ...secrets }),
    })
    const work = join(folder, 'work')
    await mkdir(work, { mode: 0o700 })
    await endSearch(work)
    for (const [path, text] of Object.entries(settings.files)) {
      await mkdir(dirname(join(home, path)), { recursive: true, mode: 0o700 })
      await writeFile(join(home, path), text, { mode: 0o600 })
    }
    return { name: chosen, home, work, socket: join(folder, 'tools'), environment, [Symbol.asyncDispose]: remove }
  } catch (error) {
    await remove()
    throw error
  }
}

/**
 * Agents look for instructions and variables of a project from where they are started upward, and the temporary folder above is everybody's
 * or a repository's: they find what ends their search, and nothing in it (docs/decisions/0014).
 */
const endSearch = async (work: string): Promise<void> => {
  await mkdir(join(work, '.git'))
  await writeFile(join(work, '.env'), '')
}

/** Makes the folder, with the owner's pid in it. What a process left that was killed is removed. */
const makeOwn = async (folder: string): Promise<void> => {
  const owner = join(folder, 'owner')
  for (let isFirst = true; ; isFirst = false) {
    const made = await mkdir(folder, { mode: 0o700 }).then(
      () => true,
      (error: unknown) => {
        if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
        throw error
      },
    )
    if (made) break
    if (!isFirst || isAlive(Number(await readFile(owner, 'utf8').catch(() => '')))) throw new Error('another turn is at work in its folder')
    await rm(folder, { recursive: true, force: true })
  }
  await writeFile(owner, String(process.pid))
}

const isAlive = (pid: number): boolean => {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
