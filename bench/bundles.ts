/** Bytes of the code of each zip function, bundled as it is deployed. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeZip } from '../lib/infra/bundling.ts'
import { isImageFunction } from '../lib/infra/functions.ts'
import { FUNCTION_FOLDERS, type FunctionName } from '../lib/names.ts'
import { temporaryFolder } from '../test/support/git-repository.ts'
import type { Figure } from './run.ts'

export const bundles = async (): Promise<Figure[]> => {
  const folder = await temporaryFolder('reviewloop-bench-')
  try {
    const figures: Figure[] = []
    for (const name of (Object.keys(FUNCTION_FOLDERS) as FunctionName[]).filter((one) => !isImageFunction(one))) {
      const bytes = await writeZip(name, join(folder, name), { stage: 'bench', repositories: [] })
      figures.push({ figure: `${name}: bundle`, value: `${bytes} bytes`, how: 'minified by esbuild, before it is zipped' })
    }
    return figures
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
