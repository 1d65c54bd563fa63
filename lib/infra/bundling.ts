/** The functions' files, as they go into zips and image. One place: the stack deploys them, tests load them, the bench weighs them. */
import { cp, mkdir, readFile, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type BuildOptions, type Loader, type Plugin } from 'esbuild'
import { FUNCTION_FOLDERS, type FunctionName, IMAGE_FUNCTIONS } from '../names.ts'
import { isImageFunction } from './functions.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

/** Where the stack finds the folders of the functions' code. */
export interface Bundles {
  zip: (name: FunctionName) => string
  image: string
}

/** In the image these stay packages: linters load their own files by path, and a bundle of them dies on it. */
export const PACKAGES = ['eslint', '@eslint/*', 'typescript', 'typescript-eslint', '@typescript-eslint/*', '@astral-sh/*']

/** Parts of the SDK that Lambda never comes to. */
const UNUSED = [
  ...['ini', 'sso', 'process', 'web-identity', 'http'].map((name) => `@aws-sdk/credential-provider-${name}`),
  '@smithy/credential-provider-imds',
  '@smithy/core/event-streams',
]

const shared = {
  absWorkingDir: ROOT,
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'esm',
  // Packages offer CommonJS first to Node; their modules can be shaken.
  mainFields: ['module', 'main'],
  minify: true,
  legalComments: 'none',
  alias: Object.fromEntries(UNUSED.map((name) => [name, here('unused-sdk.ts')])),
  // What is CommonJS inside calls require for Node's own modules.
  banner: { js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);" },
  logLevel: 'silent',
} as const satisfies BuildOptions

const entryOf = (name: FunctionName): string => join(ROOT, 'functions', FUNCTION_FOLDERS[name], 'index.ts')

/** Options for the one file of a zip. */
export const zipOptions = (name: FunctionName): BuildOptions => ({
  ...shared,
  entryPoints: [{ in: entryOf(name), out: 'index' }],
  outExtension: { '.js': '.mjs' },
})

/** Handler of a function in the image, whose files lie beside each other. */
export const imageHandler = (name: FunctionName): string => `${FUNCTION_FOLDERS[name]}.handler`

const WORKER = /new URL\('(\.{1,2}\/[^']+\.ts)', import\.meta\.url\)/g

/** A file that the code names by URL (a worker) becomes a file of the image of its own, beside the one that names it. */
const urls = (found: Set<string>): Plugin => ({
  name: 'urls',
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/](lib|functions)[\\/].*\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const contents = text.replaceAll(WORKER, (_, file: string) => {
        found.add(resolve(dirname(path), file))
        return `new URL('./${basename(file, '.ts')}.mjs', import.meta.url)`
      })
      return { contents, loader: 'ts' satisfies Loader }
    })
  },
})

/** Bundles one zip function into `folder`. Gives the bytes of its file. */
export const writeZip = async (name: FunctionName, folder: string): Promise<number> => {
  await rm(folder, { recursive: true, force: true })
  const { metafile } = await build({ ...zipOptions(name), outdir: folder, metafile: true })
  return Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0)
}

/** Lays out the context from which the image is built: the bundles, what `npm ci` needs, the Dockerfile. Nothing else gets near it. */
export const writeImageContext = async (folder: string): Promise<void> => {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const done = new Set<string>()
  let entries = IMAGE_FUNCTIONS.map((name) => ({ in: entryOf(name), out: FUNCTION_FOLDERS[name] as string }))
  while (entries.length) {
    const found = new Set<string>()
    for (const entry of entries) done.add(entry.in)
    await build({
      ...shared,
      entryPoints: entries,
      external: PACKAGES,
      outdir: join(folder, 'code'),
      outExtension: { '.js': '.mjs' },
      plugins: [urls(found)],
    })
    entries = [...found].filter((file) => !done.has(file)).map((file) => ({ in: file, out: basename(file, '.ts') }))
  }
  for (const file of ['package.json', 'package-lock.json', '.npmrc']) await cp(join(ROOT, file), join(folder, file))
  await cp(here('image/Dockerfile'), join(folder, 'Dockerfile'))
}

/** Bundles everything below `out`. */
export const writeBundles = async (out: string): Promise<Bundles> => {
  const zip = (name: FunctionName): string => join(out, 'zip', FUNCTION_FOLDERS[name])
  const zips = (Object.keys(FUNCTION_FOLDERS) as FunctionName[]).filter((name) => !isImageFunction(name))
  const image = join(out, 'image')
  await Promise.all([...zips.map((name) => writeZip(name, zip(name))), writeImageContext(image)])
  return { zip, image }
}
