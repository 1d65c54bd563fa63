/** A deployment with the agent `codex`: only turns may read its key, and they are told how to use it. */
import { type App, Validations } from 'aws-cdk-lib'
import { AwsSolutionsChecks } from 'cdk-nag'
import { expect, test } from 'vitest'
import { readCodexSettings } from '../../lib/agents/codex/settings.ts'
import { ENV, FUNCTION_FOLDERS, type FunctionName } from '../../lib/names.ts'
import { asker } from '../support/iam.ts'
import { environmentOf, exampleSettings, ofType, synthesize } from '../support/template.ts'

const keySecret = 'arn:aws:secretsmanager:us-east-1:000000000000:secret:reviewloop/codex-AbCdEf'
const prices = { input: 1.25, output: 10, cacheRead: 0.125, cacheWrite: 1.25 }
const given = { model: 'some-model', baseUrl: 'https://models.example/v1', effort: 'high', contextTokens: 90_000, prices }
const withCodex = (codex: Record<string, unknown>) => exampleSettings({ agents: ['codex', 'lint'], codex })
const template = synthesize(withCodex({ ...given, keySecret }))
const FUNCTIONS = Object.keys(FUNCTION_FOLDERS) as FunctionName[]
const TURNS: FunctionName[] = ['Review', 'Fix', 'Certify']

test('turns may read the key, and nobody else', async () => {
  const may = asker(template)
  const answers = await Promise.all(FUNCTIONS.map((name) => may.other(name, 'secretsmanager:GetSecretValue', keySecret)))
  expect(FUNCTIONS.filter((_, index) => answers[index])).toEqual(TURNS)
  for (const name of TURNS) expect(await may.other(name, 'secretsmanager:GetSecretValue', keySecret.replace('codex', 'other'))).toBe(false)
})

test('no turn reads a secret where the deployment has no such agent', () => {
  const without = synthesize()
  const policies = ofType(without, 'AWS::IAM::Policy').filter(([id]) => TURNS.some((name) => id.startsWith(name)))
  expect(policies).toHaveLength(TURNS.length)
  expect(JSON.stringify(policies)).not.toContain('secretsmanager')
  expect(Object.keys(environmentOf(without, 'Review')).filter((name) => name.includes('CODEX'))).toEqual([])
})

test('the environment of a turn is what the agent reads; it holds the name of the secret and no key', () => {
  for (const name of TURNS) {
    expect(readCodexSettings(environmentOf(template, name))).toEqual(given)
    expect(environmentOf(template, name)[ENV.codexKeySecret]).toBe(keySecret)
  }
  for (const name of FUNCTIONS.filter((one) => !TURNS.includes(one)))
    expect(Object.keys(environmentOf(template, name)).filter((key) => key.includes('CODEX'))).toEqual([])
})

test('cdk-nag finds nothing more in it', () => {
  const look = (app: App): void => {
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app))
  }
  expect(() => synthesize(withCodex({ model: 'm', keySecret }), look)).not.toThrow()
})

test.each([
  ['the agent without its settings', { agents: ['codex'] }, /the model and the secret with its key at least[\s\S]*codex/],
  ['no secret', { codex: { model: 'm' } }, /codex\.keySecret/],
  ['a key itself', { codex: { model: 'm', keySecret: 'sk-123' } }, /full ARN of a secret/],
  ['an address without TLS', { codex: { model: 'm', keySecret, baseUrl: 'http://models.example' } }, /codex\.baseUrl/],
  ['an effort that is none', { codex: { model: 'm', keySecret, effort: 'some' } }, /codex\.effort/],
])('%s is refused', (_what, changes, message) => {
  expect(() => exampleSettings(changes)).toThrow(message)
})
