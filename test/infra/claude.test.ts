/** A deployment with the agent `claude`: its key is read by turns alone, or its model invoked by them alone; the image has its package. */
import { describe, expect, test } from 'vitest'
import { readClaudeSettings } from '../../lib/agents/claude/settings.ts'
import { ENV, FUNCTION_FOLDERS, type FunctionName } from '../../lib/names.ts'
import { asker } from '../support/iam.ts'
import { environmentOf, exampleSettings, imageArguments, synthesize } from '../support/template.ts'

const KEY = 'arn:aws:secretsmanager:us-east-1:000000000000:secret:model-key-AbCdEf'
const withClaude = (claude: Record<string, unknown>) => exampleSettings({ agents: ['claude', 'lint'], claude })
const FUNCTIONS = Object.keys(FUNCTION_FOLDERS) as FunctionName[]
const TURNS = ['Review', 'Fix', 'Certify']

const who = async (of: ReturnType<typeof synthesize>, action: string, arn: string): Promise<FunctionName[]> => {
  const may = asker(of)
  const answers = await Promise.all(FUNCTIONS.map((name) => may.other(name, action, arn)))
  return FUNCTIONS.filter((_, index) => answers[index])
}

describe("through Anthropic's own API", () => {
  const template = synthesize(withClaude({ model: 'claude-test', keySecret: KEY, effort: 'high' }))

  test('turns alone read the key, and are told its name and not the key', async () => {
    expect(await who(template, 'secretsmanager:GetSecretValue', KEY)).toEqual(TURNS)
    for (const name of FUNCTIONS) expect(ENV.claudeKeySecret in environmentOf(template, name)).toBe(TURNS.includes(name))
    expect(readClaudeSettings(environmentOf(template, 'Fix'))).toMatchObject({ model: 'claude-test', effort: 'high' })
    expect(environmentOf(template, 'Fix')[ENV.claudeKeySecret]).toBe(KEY)
    expect(JSON.stringify(template)).not.toContain('bedrock:')
  })
})

test('through Bedrock turns alone invoke the one model, streaming', async () => {
  const template = synthesize(withClaude({ provider: 'bedrock', model: 'anthropic.some-model-v1:0', region: 'eu-west-1' }))
  const model = 'arn:aws:bedrock:eu-west-1::foundation-model/anthropic.some-model-v1:0'
  for (const action of ['bedrock:InvokeModel', 'bedrock:InvokeModelWithResponseStream']) {
    expect(await who(template, action, model)).toEqual(TURNS)
    expect(await who(template, action, model.replace('some', 'other'))).toEqual([])
  }
  expect(await who(template, 'secretsmanager:GetSecretValue', KEY)).toEqual([])
  expect(readClaudeSettings(environmentOf(template, 'Review'))).toMatchObject({ provider: 'bedrock', region: 'eu-west-1' })
})

test.each([
  ['the agent without its settings', { agents: ['claude'] }, /the agent claude is named: give its settings/],
  ['no key', { claude: { model: 'm' } }, /needs the secret that holds the key/],
  ['a key for Bedrock', { claude: { model: 'm', provider: 'bedrock', keySecret: KEY } }, /and Bedrock none/],
  ['a region of Bedrock without Bedrock', { claude: { model: 'm', keySecret: KEY, region: 'eu-west-1' } }, /with provider bedrock alone/],
  ['a key itself', { claude: { model: 'm', keySecret: 'sk-ant-key' } }, /expected the full ARN of a secret/],
  ['an ARN without what may be invoked', { claude: { provider: 'bedrock', model: 'arn:aws:bedrock:eu-west-1:1:x/y' } }, /needs the list/],
])('%s is refused', (_what, changes, message) => {
  expect(() => exampleSettings(changes)).toThrow(message)
})

test.each([
  [['claude', 'lint', 'bedrock'], 'claude'],
  [['lint'], ''],
])('the one image is built with the packages of the agents that are named: %j', (agents, wanted) => {
  expect(imageArguments(exampleSettings({ agents, claude: { model: 'm', keySecret: KEY }, bedrock: { model: 'm' } }))).toEqual([
    { AGENTS: wanted },
  ])
})
