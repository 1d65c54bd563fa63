/** The image with the agent `codex` in it, laid out as its Dockerfile says: whole turns, one process each, with the key from a secret. */
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { writeImageContext } from '../../lib/infra/bundling.ts'
import { deploymentDocument } from '../../lib/infra/deployment-document.ts'
import { runState } from '../../lib/loop/run.ts'
import { ENV, FUNCTION_FOLDERS } from '../../lib/names.ts'
import { awsStandIn, type StandIn } from '../support/aws-stand-in.ts'
import { invoke } from '../support/bare-node.ts'
import { buildWithoutDocker } from '../support/dockerfile.ts'
import { makeChange } from '../support/git-repository.ts'
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
  const { repository, base, head } = await makeChange({ 'a.txt': 'one\n' }, { 'a.txt': 'one\nbad luck\n' })
  try {
    let state = await world.prepared(repository, { base, head }, 'codex')
    const environment = {
      ...world.environment,
      ...built.env,
      [ENV.codexModel]: 'test-model',
      [ENV.codexBaseUrl]: model.url,
      [ENV.codexKeySecret]: 'arn:aws:secretsmanager:us-east-1:000000000000:secret:codex-AbCdEf',
      AWS_ENDPOINT_URL_SECRETS_MANAGER: secrets.url,
    }
    while (state.next === 'Review' || state.next === 'Fix' || state.next === 'Certify') {
      const outcome = await invoke(root, `${FUNCTION_FOLDERS[state.next]}.mjs`, environment, state)
      if (outcome.kind !== 'answer') throw new Error(JSON.stringify(outcome))
      state = runState.parse(outcome.value)
    }
    const { findings, turns, commits } = await world.record(state)
    expect(findings).toMatchObject([{ rule: 'bad-word', status: 'fixed' }])
    expect(turns.map(({ agent, role, mode }) => `${agent} ${role} ${mode}`)).toEqual([
      'codex reviewer started',
      'codex fixer started',
      'codex reviewer resumed',
      'codex certifier cold',
    ])
    expect(commits).toMatchObject([{ files: ['a.txt'] }])
    expect(new Set(model.requests.map(({ headers }) => headers.authorization))).toEqual(new Set(['Bearer a-token']))
  } finally {
    await repository.close()
  }
})
