/**
 * The real packages of the optional agents, for the tests that need them: what lib/agents/packages/ locks, installed on first use into a
 * folder below node_modules/.cache. Their versions and checksums are those of the image; the folder is named for them.
 */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { cp, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { OPTIONAL_AGENTS } from '../../lib/names.ts'

const SOURCE = fileURLToPath(new URL('../../lib/agents/packages', import.meta.url))
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/reviewloop', import.meta.url))

/** Files of tests that drive the real packages. */
export const AGENT_SUITES = 'test/integration/agent-{claude,codex,acp}*.test.ts'

/** The folder that REVIEWLOOP_AGENTS is to name. */
export const agentPackages = (): string => {
  const lock = readFileSync(join(SOURCE, 'package-lock.json'))
  return join(CACHE, `agents-${createHash('sha256').update(lock).digest('hex').slice(0, 12)}`)
}

/** What it prints is seen: it may take a while. */
const install = async (folder: string): Promise<void> => {
  const child = spawn('sh', [join(folder, 'install.sh'), ...OPTIONAL_AGENTS], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, npm_config_loglevel: 'http' },
  })
  const [code] = (await once(child, 'close')) as [number | null]
  if (code !== 0) throw new Error(`the packages of the agents cannot be installed: npm ended with ${code}`)
}

/** vitest's global set-up. What is in the folder is whole: it is installed beside and moved into place. */
export default async (): Promise<void> => {
  const folder = agentPackages()
  if (existsSync(folder)) return
  console.log(`── installing ${OPTIONAL_AGENTS.join(' and ')}: some 300 MB, once`)
  await mkdir(CACHE, { recursive: true })
  const draft = await mkdtemp(join(CACHE, 'draft-'))
  try {
    await cp(SOURCE, draft, { recursive: true, filter: (file) => basename(file) !== 'node_modules' })
    await install(draft)
    // Somebody else may have been as quick: then theirs is as good.
    await rename(draft, folder).catch((error: unknown) => {
      if (!existsSync(folder)) throw error
    })
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}
