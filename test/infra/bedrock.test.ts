/** A deployment whose agents call a model: only turns may, only this model, and they are told how. */
import { type App, Validations } from 'aws-cdk-lib'
import { AwsSolutionsChecks } from 'cdk-nag'
import { describe, expect, test } from 'vitest'
import { readBedrockSettings } from '../../lib/agents/bedrock/settings.ts'
import { FUNCTION_FOLDERS, type FunctionName } from '../../lib/names.ts'
import { asker } from '../support/iam.ts'
import { environmentOf, exampleSettings, ofType, plain, synthesize } from '../support/template.ts'

const PROFILE = 'eu.anthropic.some-model-v1:0'
const withModel = (bedrock: Record<string, unknown>) => exampleSettings({ agents: ['bedrock', 'lint'], bedrock })
const template = synthesize(withModel({ model: PROFILE, modelRegions: ['eu-central-1', 'eu-west-1'] }))
const FUNCTIONS = Object.keys(FUNCTION_FOLDERS) as FunctionName[]

const who = async (of: ReturnType<typeof synthesize>, action: string, arn: string): Promise<FunctionName[]> => {
  const may = asker(of)
  const answers = await Promise.all(FUNCTIONS.map((name) => may.other(name, action, arn)))
  return FUNCTIONS.filter((_, index) => answers[index])
}
const TURNS = ['Review', 'Fix', 'Certify']
const profileArn = `arn:aws:bedrock:us-east-1:000000000000:inference-profile/${PROFILE}`
const modelArn = (region: string, id = 'anthropic.some-model-v1:0'): string => `arn:aws:bedrock:${region}::foundation-model/${id}`

describe('who may call a model', () => {
  test('the turns, through the profile and in the regions behind it', async () => {
    for (const arn of [profileArn, modelArn('eu-central-1'), modelArn('eu-west-1')])
      expect(await who(template, 'bedrock:InvokeModel', arn)).toEqual(TURNS)
  })

  test('nobody calls another, or elsewhere, or does more than call', async () => {
    for (const arn of [modelArn('us-west-2'), modelArn('eu-central-1', 'anthropic.other-v1:0'), profileArn.replace('some', 'other')])
      expect(await who(template, 'bedrock:InvokeModel', arn)).toEqual([])
    expect(await who(template, 'bedrock:InvokeModelWithResponseStream', modelArn('eu-central-1'))).toEqual([])
  })

  test('nobody, where the deployment has no such agent', async () => {
    const without = synthesize()
    expect(JSON.stringify(ofType(without, 'AWS::IAM::Policy'))).not.toContain('bedrock')
    expect(Object.keys(environmentOf(without, 'Review')).filter((name) => name.includes('BEDROCK'))).toEqual([])
  })

  test.each([
    ['a model by itself', { model: 'anthropic.some-model-v1:0' }, [modelArn('us-east-1')]],
    ['a model of another region', { model: 'anthropic.some-model-v1:0', region: 'eu-west-1' }, [modelArn('eu-west-1')]],
    [
      'what the settings list',
      { model: 'arn:aws:bedrock:us-east-1:000000000000:application-inference-profile/abc', resources: [modelArn('eu-north-1')] },
      [modelArn('eu-north-1')],
    ],
  ])('%s', async (_what, bedrock, arns) => {
    const of = synthesize(withModel(bedrock))
    for (const arn of arns) expect(await who(of, 'bedrock:InvokeModel', arn)).toEqual(TURNS)
  })
})

test('a profile of all the world needs its model without a region as well', () => {
  // The simulator knows no such ARN; the service's documentation asks for it.
  const policies = ofType(synthesize(withModel({ model: 'global.anthropic.some-model-v1:0' })), 'AWS::IAM::Policy')
  const [, review] = policies.find(([id]) => id.startsWith('Review')) ?? []
  const { Statement } = (review?.Properties['PolicyDocument'] ?? {}) as { Statement: { Action: unknown; Resource: unknown[] }[] }
  const arns = Statement.find(({ Action }) => Action === 'bedrock:InvokeModel')?.Resource.map((arn) => plain(arn))
  expect(arns).toEqual([
    'arn:aws:bedrock:us-east-1:000000000000:inference-profile/global.anthropic.some-model-v1:0',
    modelArn('us-east-1'),
    modelArn(''),
  ])
})

test('the environment of a turn is what the agent reads', () => {
  const prices = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 }
  const given = {
    model: 'm',
    region: 'eu-west-1',
    effort: 'high',
    maxTokens: 8000,
    contextTokens: 90_000,
    cache: '1h',
    strict: false,
    prices,
  }
  const all = synthesize(withModel(given))
  for (const name of TURNS as FunctionName[]) expect(readBedrockSettings(environmentOf(all, name))).toEqual(given)
  expect(readBedrockSettings(environmentOf(template, 'Fix'))).toMatchObject({ model: PROFILE, region: null, strict: true, prices: null })
  for (const name of FUNCTIONS.filter((one) => !TURNS.includes(one)))
    expect(Object.keys(environmentOf(all, name)).filter((key) => key.includes('BEDROCK'))).toEqual([])
})

test('cdk-nag finds nothing more in it', () => {
  const look = (app: App): void => {
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app))
  }
  expect(() => synthesize(withModel({ model: PROFILE, modelRegions: ['eu-central-1'] }), look)).not.toThrow()
})

test.each([
  ['the agent without its settings', { agents: ['bedrock'] }, /give its settings, the model at least[\s\S]*bedrock/],
  ['an ARN without what may be invoked', { bedrock: { model: 'arn:aws:bedrock:eu-west-1:1:inference-profile/x' } }, /needs the list/],
  ['a wildcard', { bedrock: { model: 'm', resources: ['arn:aws:bedrock:*::foundation-model/*'] } }, /without a wildcard/],
  ['a region that is none', { bedrock: { model: 'm', region: 'Frankfurt' } }, /name of a region/],
  ['an effort that is none', { bedrock: { model: 'm', effort: 'some' } }, /bedrock\.effort/],
])('%s is refused', (_what, changes, message) => {
  expect(() => exampleSettings(changes)).toThrow(message)
})
