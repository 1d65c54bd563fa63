/** The image with the agent `codex` in it, laid out as its Dockerfile says: whole turns, one process each, with the key from a secret. */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeImageContext } from '../../lib/infra/bundling.ts'
import { deploymentDocument } from '../../lib/infra/deployment-document.ts'
import { ENV } from '../../lib/names.ts'
import { awsStandIn, type StandIn } from '../support/aws-stand-in.ts'
import { buildWithoutDocker } from '../support/dockerfile.ts'
import { mended, runFromImage } from '../support/image-turns.ts'
import { imageWorld, type ImageWorld } from '../support/image-world.ts'
import { startModelServer, type ModelServer } from '../support/model-server/openai.ts'
import { plainModel } from '../support/model-server/openai-plain-model.ts'
import { exampleSettings } from '../support/template.ts'

let folder: string
let world: ImageWorld
let model: ModelServer
/** Gives out the secret. */
let secrets: StandIn

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reviewloop-image-'))
  await writeImageContext(join(folder, 'context'), deploymentDocument(exampleSettings()))
  world = await imageWorld()
  model = await startModelServer(plainModel())
  secrets = await awsStandIn()
})
afterAll(async () => {
  await secrets[Symbol.asyncDispose]()
  await model[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

test('reviews, fixes, reviews again and certifies', async () => {
  const root = join(folder, 'task')
  const built = await buildWithoutDocker(join(folder, 'context'), root, { AGENTS: 'codex' })
  const packages = (name: string): Promise<unknown> => stat(join(root, 'agents/node_modules', name))
  await packages('@openai/codex-sdk')
  await expect(packages('@anthropic-ai/claude-agent-sdk')).rejects.toThrow('ENOENT')
  const run = { agent: 'codex', file: 'a.txt', bad: 'bad luck\n', rule: 'bad-word' }
  const environment = {
    ...built.env,
    [ENV.codexModel]: 'test-model',
    [ENV.codexBaseUrl]: model.url,
    [ENV.codexKeySecret]: 'arn:aws:secretsmanager:us-east-1:000000000000:secret:codex-AbCdEf',
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
  }
  expect(await runFromImage(world, { ...run, root, environment })).toEqual(mended(run))
  expect(new Set(model.requests.map(({ headers }) => headers.authorization))).toEqual(new Set(['Bearer a-token']))
})
