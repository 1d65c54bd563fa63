/** Where the embedded engine keeps its data, and where its socket can live. */
import { createHash } from 'node:crypto'
import { homedir, tmpdir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { ENV } from '../names.ts'

export interface Surroundings {
  env: Readonly<Record<string, string | undefined>>
  platform: NodeJS.Platform
  home: string
  cwd: string
  tmp: string
}

const surroundings = (): Surroundings => ({
  env: process.env,
  platform: process.platform,
  home: homedir(),
  cwd: process.cwd(),
  tmp: tmpdir(),
})

const stateFolder = ({ env, platform, home }: Surroundings): string => {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support')
  if (platform === 'win32') return env['LOCALAPPDATA'] || join(home, 'AppData', 'Local')
  // the XDG rules: a relative value is to be ignored
  const xdg = env['XDG_STATE_HOME']
  return xdg && isAbsolute(xdg) ? xdg : join(home, '.local', 'state')
}

/** The data folder: the flag, else REVIEWLOOP_DATA, else the platform's state folder. Absolute. */
export const dataFolderPath = (flag: string | undefined, around: Surroundings = surroundings()): string => {
  const named = flag || around.env[ENV.data]
  return named ? resolve(around.cwd, named) : join(stateFolder(around), 'reviewloop')
}

/** Unix sockets are addressed by at most 107 bytes; macOS allows 103. */
const SOCKET_BYTES = 100

/**
 * Where the owner of `folder` listens: in the folder, or, where that path is too long for a socket, in a folder of its own below the
 * folder for temporary files (`privateFolder` says that it has to be made, mode 0700). On Windows a named pipe.
 */
export const socketPath = (
  folder: string,
  id: string,
  around: Surroundings = surroundings(),
): { socket: string; privateFolder: string | null } => {
  if (around.platform === 'win32') return { socket: `\\\\.\\pipe\\reviewloop-${id}`, privateFolder: null }
  const inside = join(folder, 'engine.sock')
  if (Buffer.byteLength(inside) <= SOCKET_BYTES) return { socket: inside, privateFolder: null }
  const name = `reviewloop-${createHash('sha256').update(`${folder}\0${id}`).digest('hex').slice(0, 16)}`
  const fits = (path: string) => Buffer.byteLength(join(path, name, 's')) <= SOCKET_BYTES
  const privateFolder = join(fits(around.tmp) ? around.tmp : '/tmp', name)
  return { socket: join(privateFolder, 's'), privateFolder }
}
