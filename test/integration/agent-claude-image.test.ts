/** Turns of the agent `claude` from the files of the image, built with its package as the Dockerfile says. */
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeImageContext } from '../../lib/infra/bundling.ts'
import { deploymentDocument } from '../../lib/infra/deployment-document.ts'
import { ENV } from '../../lib/names.ts'
import { awsStandIn } from '../support/aws-stand-in.ts'
import { buildWithoutDocker, type Built } from '../support/dockerfile.ts'
import { mended, runFromImage } from '../support/image-turns.ts'
import { imageWorld } from '../support/image-world.ts'
import { startAnthropicServer } from '../support/model-server/anthropic.ts'
import { plainModel } from '../support/model-server/plain-model.ts'
import { exampleSettings } from '../support/template.ts'

let folder: string
let root: string
let built: Built
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reviewloop-claude-image-'))
  root = join(folder, 'task')
  await writeImageContext(join(folder, 'context'), deploymentDocument(exampleSettings()))
  built = await buildWithoutDocker(join(folder, 'context'), root, { AGENTS: 'claude' })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('the packages of the agents that the build names are there, and of no other', async () => {
  expect(built.env).toEqual({ [ENV.agents]: join(root, 'agents') })
  const packages = await readdir(join(root, 'agents/node_modules'))
  expect(packages).toContain('@anthropic-ai')
  expect(packages).not.toContain('@openai')
  expect(await readdir(join(root, 'node_modules'))).not.toContain('@anthropic-ai')
})

test('claude reviews, fixes, reviews again and certifies, with the key from a secret', async () => {
  await using world = await imageWorld()
  await using secrets = await awsStandIn()
  await using model = await startAnthropicServer(plainModel())
  const run = { agent: 'claude', file: 'a.txt', bad: 'bad luck\n', rule: 'bad-word' }
  const environment = {
    ...built.env,
    [ENV.claudeModel]: 'claude-test',
    ANTHROPIC_BASE_URL: model.url,
    [ENV.claudeKeySecret]: 'arn:aws:secretsmanager:us-east-1:000000000000:secret:claude-AbCdEf',
    AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
  }
  expect(await runFromImage(world, { ...run, root, environment })).toEqual(mended(run))
  expect(model.headers['x-api-key']).toBe('a-token')
})
