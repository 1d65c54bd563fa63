import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { findPackage, installCommand, loadPackage, OPTIONAL_PACKAGES } from '../../lib/agents/optional-package.ts'
import { OPTIONAL_AGENTS } from '../../lib/names.ts'

const SDK = '@openai/codex-sdk'
const VERSION = OPTIONAL_PACKAGES.codex[SDK]

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'optional-'))
  vi.stubEnv('REVIEWLOOP_AGENTS', folder)
})
afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true })
})

const install = async (manifest: object): Promise<string> => {
  const place = join(folder, 'node_modules', SDK)
  await mkdir(join(place, 'dist'), { recursive: true })
  await writeFile(join(place, 'package.json'), JSON.stringify({ name: SDK, type: 'module', ...manifest }))
  for (const file of ['dist/index.js', 'index.js', 'main.js']) await writeFile(join(place, file), `export const from = '${file}'\n`)
  return place
}

describe('a package that is nobody’s dependency', () => {
  it.each([
    ['exports by condition', { exports: { '.': { types: './dist/index.d.ts', import: './dist/index.js' } } }, 'dist/index.js'],
    ['exports for all', { exports: { '.': { types: './index.d.ts', default: './index.js' } } }, 'index.js'],
    ['a plain export', { exports: { '.': './dist/index.js' } }, 'dist/index.js'],
    ['a main file', { main: 'main.js' }, 'main.js'],
    ['nothing of the kind', {}, 'index.js'],
  ])('is loaded from the folder that the environment names, by %s', async (_what, manifest, file) => {
    const place = await install({ version: VERSION, ...manifest })
    expect(await findPackage('codex', SDK)).toEqual({ version: VERSION, folder: place, entry: join(place, file) })
    expect(await loadPackage<{ from: string }>('codex', SDK)).toMatchObject({ from: file })
  })

  it('is said to be missing where it is nowhere', async () => {
    await expect(findPackage('codex', SDK)).rejects.toThrow(`${SDK} ${VERSION} is not installed`)
  })

  it('is not taken at another version', async () => {
    await install({ version: '0.0.1' })
    await expect(findPackage('codex', SDK)).rejects.toThrow(`${SDK} is installed as 0.0.1, and ${VERSION} is needed`)
  })

  it('comes by one command, at the exact version', () => {
    expect(installCommand('codex', '/opt/my agents')).toBe(`npm install --save-exact --prefix "/opt/my agents" ${SDK}@${VERSION}`)
    expect(installCommand('codex', null)).toBe(
      `npm install --save-exact --prefix "$HOME/reviewloop-agents" ${SDK}@${VERSION} && export REVIEWLOOP_AGENTS="$HOME/reviewloop-agents"`,
    )
  })
})

describe('the folder of packages', () => {
  const read = async (file: string): Promise<unknown> =>
    JSON.parse(await readFile(fileURLToPath(new URL(`../../lib/agents/packages/${file}`, import.meta.url)), 'utf8'))

  it('has a place for each optional agent, every version exact', async () => {
    expect(await read('package.json')).toMatchObject({ workspaces: OPTIONAL_AGENTS })
    for (const packages of Object.values(OPTIONAL_PACKAGES))
      for (const version of Object.values(packages)) expect(version).toMatch(/^\d+\.\d+\.\d+$/)
  })

  it('is locked by checksums, and its lock names no registry', async () => {
    const { packages } = (await read('package-lock.json')) as {
      packages: Record<string, { version?: string; resolved?: string; integrity?: string; link?: boolean }>
    }
    const installed = Object.entries(packages).filter(([path, entry]) => path.includes('node_modules/') && !entry.link)
    expect(installed.filter(([, { integrity, resolved }]) => !integrity?.startsWith('sha512-') || resolved !== undefined)).toEqual([])
    for (const wanted of Object.values(OPTIONAL_PACKAGES))
      for (const [name, version] of Object.entries(wanted)) expect(packages[`node_modules/${name}`]?.version).toBe(version)
  })
})
