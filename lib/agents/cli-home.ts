/**
 * Where an agent's command-line tool lives during one turn: an empty HOME of its own, and an environment made from a list. What the
 * process around it knows (AWS credentials, tokens, settings) is not passed on unless an agent names it.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** To find programs and time, and the way out of a network. None holds a secret, unless a proxy's address does. */
const PASSED = [
  'PATH',
  'LANG',
  'LC_ALL',
  'TZ',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'no_proxy',
] as const

export interface CliHome extends AsyncDisposable {
  /** Absolute path, mode 0700; gone with the turn. */
  folder: string
  /** All that the tool is to see. */
  environment: Record<string, string>
}

export interface CliHomeOptions {
  /** Where to make it, for a tool that looks for its sessions by the path of its home; a new place, unless said. Nothing may be there. */
  folder?: string
  /** Variables that are passed on besides, where they are set: those by which the agent reaches its provider. */
  pass?: readonly string[]
  /** Variables of the agent's own; a path below HOME may be made from `folder`. */
  set?: (folder: string) => Readonly<Record<string, string>>
  /** The environment to take from; this process's own, unless said. */
  source?: Readonly<Record<string, string | undefined>>
}

/** Makes a home; disposing of it removes it. Where this process is killed, a function's next turn clears it by its name; elsewhere it stays. */
export const openCliHome = async (options: CliHomeOptions = {}): Promise<CliHome> => {
  const { pass = [], set = () => ({}), source = process.env } = options
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'reviewloop-cli-')))
  if (options.folder !== undefined) await mkdir(folder, { mode: 0o700 })
  const inside = (name: string): string => join(folder, name)
  const places = {
    TMPDIR: inside('tmp'),
    XDG_CONFIG_HOME: inside('config'),
    XDG_CACHE_HOME: inside('cache'),
    XDG_DATA_HOME: inside('data'),
    XDG_STATE_HOME: inside('state'),
  }
  for (const place of Object.values(places)) await mkdir(place, { mode: 0o700 })
  const passed = [...PASSED, ...pass].flatMap((name) => (source[name] ? [[name, source[name]]] : []))
  return {
    folder,
    environment: { ...(Object.fromEntries(passed) as Record<string, string>), HOME: folder, ...places, ...set(folder) },
    // A tool that has just been ended may still be writing.
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }),
  }
}
