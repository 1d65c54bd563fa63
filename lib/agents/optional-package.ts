/** Packages that agents need and that are nobody's dependency: each brings hundreds of megabytes, so they are there where somebody wants them. */
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import * as z from 'zod'
import { ENV, type OptionalAgent } from '../names.ts'
import claude from './packages/claude/package.json' with { type: 'json' }
import codex from './packages/codex/package.json' with { type: 'json' }

/** Exact versions by agent and package. The lock file in packages/ has the checksums of all of it. */
export const OPTIONAL_PACKAGES = { claude: claude.dependencies, codex: codex.dependencies } as const satisfies Record<
  OptionalAgent,
  Readonly<Record<string, string>>
>

const FOLDER = '"$HOME/reviewloop-agents"'

/** What to type so that the agent's packages are there, for a POSIX shell. */
export const installCommand = (agent: OptionalAgent, folder: string | null = process.env[ENV.agents] || null): string => {
  const packages = Object.entries(OPTIONAL_PACKAGES[agent]).map(([name, version]) => `${name}@${version}`)
  const install = (prefix: string): string => `npm install --save-exact --prefix ${prefix} ${packages.join(' ')}`
  return folder !== null ? install(JSON.stringify(folder)) : `${install(FOLDER)} && export ${ENV.agents}=${FOLDER}`
}

const manifest = z.object({
  version: z.string(),
  main: z.string().optional(),
  exports: z.record(z.string(), z.union([z.string(), z.record(z.string(), z.string())])).optional(),
})

/** Folders with packages: those that a module of ours would be looked up in, then the one that the environment names. */
const folders = (): string[] => {
  const own = createRequire(import.meta.url).resolve.paths('any') ?? []
  const named = process.env[ENV.agents]
  return named ? [...own, join(named, 'node_modules')] : own
}

export interface InstalledPackage {
  version: string
  /** Absolute paths. */
  folder: string
  entry: string
}

const look = async (folder: string): Promise<InstalledPackage | null> => {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => null)
  if (text === null) return null
  const { version, main, exports } = manifest.parse(JSON.parse(text))
  const own = exports?.['.']
  const entry = (typeof own === 'object' ? (own['import'] ?? own['default']) : own) ?? main ?? 'index.js'
  return { version, folder, entry: join(folder, entry) }
}

/** A package of the table as it is installed, at the version of the table. Throws an Error that says what is missing or other. */
export const findPackage = async (agent: OptionalAgent, name: string): Promise<InstalledPackage> => {
  const wanted = (OPTIONAL_PACKAGES[agent] as Readonly<Record<string, string>>)[name]
  const others: string[] = []
  for (const folder of folders()) {
    const found = await look(join(folder, name))
    if (!found) continue
    if (found.version === wanted) return found
    others.push(found.version)
  }
  if (others.length > 0)
    throw new Error(`${name} is installed as ${others.join(' and ')}, and ${wanted} is needed: ${installCommand(agent)}`)
  throw new Error(`${name} ${wanted} is not installed: ${installCommand(agent)}`)
}

/** The module of such a package. `Module` is what of it we use: a test holds it against the package's own types. */
export const loadPackage = async <Module>(agent: OptionalAgent, name: string): Promise<Module> => {
  const { entry } = await findPackage(agent, name)
  return (await import(pathToFileURL(entry).href)) as Module
}
