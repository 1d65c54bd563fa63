/** The functions' files, as they go into zips and image. One place: the stack deploys them, tests load them, the bench weighs them. */
import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type BuildOptions } from 'esbuild'
import { FUNCTION_FOLDERS, type FunctionName, IMAGE_FUNCTIONS } from '../names.ts'
import type { DeploymentDocument } from './deployment-document.ts'
import { isImageFunction } from './functions.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url))

/** Where the stack finds the folders of the functions' code. */
export interface Bundles {
  zip: (name: FunctionName) => string
  image: string
}

/** In the image these stay packages: linters load their own files by path, and a bundle of them dies on it. */
const PACKAGES = ['eslint', '@eslint/*', 'typescript', 'typescript-eslint', '@typescript-eslint/*', '@astral-sh/*']

/** Parts of the SDK that Lambda never comes to. */
const UNUSED = [
  ...['ini', 'sso', 'process', 'web-identity', 'http'].map((name) => `@aws-sdk/credential-provider-${name}`),
  '@smithy/credential-provider-imds',
  '@smithy/core/event-streams',
  '@aws-sdk/eventstream-handler-node',
  '@aws-sdk/middleware-eventstream',
  '@aws-sdk/middleware-websocket',
  '@aws-sdk/token-providers',
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
const zipOptions = (name: FunctionName): BuildOptions => ({
  ...shared,
  entryPoints: [{ in: entryOf(name), out: 'index' }],
  outExtension: { '.js': '.mjs' },
})

/** Handler of a function in the image, whose files lie beside each other. */
export const imageHandler = (name: FunctionName): string => `${FUNCTION_FOLDERS[name]}.handler`

/** Files of the image that no function imports: they are started by name, from beside the function. */
const WORKERS = { 'lint-worker': 'lib/agents/lint/worker.ts' }

/** What lib/runtime/deployment.ts reads from beside the code. */
const writeDocument = (folder: string, deployment: DeploymentDocument): Promise<void> =>
  writeFile(join(folder, 'deployment.json'), `${JSON.stringify(deployment, null, 2)}\n`)

/** Bundles one zip function into `folder`, with the deployment's facts. Gives the bytes of its code. */
export const writeZip = async (name: FunctionName, folder: string, deployment: DeploymentDocument): Promise<number> => {
  await rm(folder, { recursive: true, force: true })
  const { metafile } = await build({ ...zipOptions(name), outdir: folder, metafile: true })
  await writeDocument(folder, deployment)
  return Object.values(metafile.outputs).reduce((sum, output) => sum + output.bytes, 0)
}

/** Lays out the context from which the image is built: the bundles, what `npm ci` needs, what the optional agents need, the Dockerfile. Nothing else gets near it. */
export const writeImageContext = async (folder: string, deployment: DeploymentDocument): Promise<void> => {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await build({
    ...shared,
    entryPoints: [
      ...IMAGE_FUNCTIONS.map((name) => ({ in: entryOf(name), out: FUNCTION_FOLDERS[name] })),
      ...Object.entries(WORKERS).map(([out, file]) => ({ in: join(ROOT, file), out })),
    ],
    external: PACKAGES,
    outdir: join(folder, 'code'),
    outExtension: { '.js': '.mjs' },
  })
  await writeDocument(join(folder, 'code'), deployment)
  for (const file of ['package.json', 'package-lock.json', '.npmrc']) await cp(join(ROOT, file), join(folder, file))
  // What the optional agents need, as names and checksums; somebody may have installed it there.
  const packages = join(ROOT, 'lib/agents/packages')
  await cp(packages, join(folder, 'agents'), { recursive: true, filter: (file) => basename(file) !== 'node_modules' })
  await cp(here('image/Dockerfile'), join(folder, 'Dockerfile'))
}

/** Bundles everything below `out`. */
export const writeBundles = async (out: string, deployment: DeploymentDocument): Promise<Bundles> => {
  const zip = (name: FunctionName): string => join(out, 'zip', FUNCTION_FOLDERS[name])
  const zips = (Object.keys(FUNCTION_FOLDERS) as FunctionName[]).filter((name) => !isImageFunction(name))
  const image = join(out, 'image')
  await Promise.all([...zips.map((name) => writeZip(name, zip(name), deployment)), writeImageContext(image, deployment)])
  return { zip, image }
}
