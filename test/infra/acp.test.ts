/** A deployment with the agent `acp`: only turns may read its key, they are told how to start it, and the image has its package. */
import { expect, test } from 'vitest'
import { readAcpSettings } from '../../lib/agents/acp/settings.ts'
import { ENV, FUNCTION_FOLDERS, type FunctionName } from '../../lib/names.ts'
import { asker } from '../support/iam.ts'
import { environmentOf, exampleSettings, imageArguments, synthesize } from '../support/template.ts'

const keySecret = 'arn:aws:secretsmanager:us-east-1:000000000000:secret:reviewloop/acp-AbCdEf'
const acp = {
  command: ['some-agent', '--acp'],
  package: '@some/agent@1.2.3',
  variables: { SOME_URL: 'https://models.example/v1' },
  key: 'SOME_KEY',
  keySecret,
  state: ['.some/sessions'],
  files: { '.some/settings.json': '{}' },
  contextTokens: 90_000,
}
const withAcp = (changes: Record<string, unknown> = {}) => exampleSettings({ agents: ['acp', 'lint'], acp: { ...acp, ...changes } })
const template = synthesize(withAcp())
const FUNCTIONS = Object.keys(FUNCTION_FOLDERS) as FunctionName[]
const TURNS: FunctionName[] = ['Review', 'Fix', 'Certify']

test('turns may read the key, and nobody else', async () => {
  const may = asker(template)
  const answers = await Promise.all(FUNCTIONS.map((name) => may.other(name, 'secretsmanager:GetSecretValue', keySecret)))
  expect(FUNCTIONS.filter((_, index) => answers[index])).toEqual(TURNS)
})

test('the environment of a turn is what the agent reads; it holds the name of the secret and no key', () => {
  for (const name of FUNCTIONS) {
    const environment = environmentOf(template, name)
    if (!TURNS.includes(name)) {
      expect(Object.keys(environment).filter((key) => /ACP|SOME/.test(key))).toEqual([])
      continue
    }
    const { command, key, state, files, contextTokens } = acp
    expect(readAcpSettings(environment)).toEqual({ command, key, state, files, contextTokens, environment: ['SOME_URL'], login: null })
    expect(environment).toMatchObject({ SOME_URL: acp.variables.SOME_URL, [ENV.acpKeySecret]: keySecret })
    expect(environment).not.toHaveProperty('SOME_KEY')
  }
})

test('the image is given its package, and nothing without one', () => {
  for (const given of imageArguments(withAcp())) expect(given).toEqual({ AGENTS: '', ACP_PACKAGE: acp.package })
  for (const given of imageArguments(exampleSettings())) expect(given).toEqual({ AGENTS: '' })
})

test.each([
  ['the agent without its settings', { agents: ['acp'] }, /the command at least[\s\S]*acp/],
  ['a variable of reviewloop’s own', { acp: { ...acp, variables: { REVIEWLOOP_BUCKET: 'x' } } }, /acp\.variables/],
  ['a key without a secret', { acp: { ...acp, keySecret: undefined } }, /give key and keySecret/],
  ['a key itself', { acp: { ...acp, keySecret: 'sk-123' } }, /full ARN of a secret/],
  ['a package without a version', { acp: { ...acp, package: 'agent' } }, /acp\.package/],
  ['words of a shell for a package', { acp: { ...acp, package: 'agent@1.0.0 && ls' } }, /acp\.package/],
  ['a path that climbs', { acp: { ...acp, state: ['../x'] } }, /acp\.state/],
])('%s is refused', (_what, changes, message) => {
  expect(() => exampleSettings(changes)).toThrow(message)
})
