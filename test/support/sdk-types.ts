/** Whether what we wrote down of an optional package's types is what the package has: asked of the compiler, in the package's own folder. */
import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { agentPackages } from './agent-packages.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** What the compiler has against `text`, a module in which `~/` stands for this repository; '' where it has nothing. */
export const complaintsAbout = async (text: string): Promise<string> => {
  const folder = await mkdtemp(join(agentPackages(), 'types-'))
  try {
    await writeFile(join(folder, 'check.mts'), text.replaceAll('~/', ROOT))
    const compilerOptions = { typeRoots: [join(ROOT, 'node_modules/@types')], rootDir: '/', noUnusedLocals: false }
    await writeFile(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: join(ROOT, 'tsconfig.json'), compilerOptions, include: ['*.mts'] }),
    )
    const { stdout } = spawnSync(process.execPath, [join(ROOT, 'node_modules/typescript7/bin/tsc'), '-p', folder], { encoding: 'utf8' })
    return stdout
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
