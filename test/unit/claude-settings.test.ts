import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { claudeKey, readClaudeSettings } from '../../lib/agents/claude/settings.ts'
import { ENV } from '../../lib/names.ts'

const MODEL = { [ENV.claudeModel]: 'some-model' }

it('a model is all that is needed', () => {
  expect(readClaudeSettings(MODEL)).toEqual({
    model: 'some-model',
    provider: 'anthropic',
    region: null,
    effort: null,
    maxTokens: null,
    contextTokens: 200_000,
  })
})

it.each([
  [{}, /^REVIEWLOOP_CLAUDE_MODEL is not set$/],
  [{ ...MODEL, [ENV.claudeProvider]: 'vertex' }, /^REVIEWLOOP_CLAUDE_PROVIDER is not valid$/],
  [{ ...MODEL, [ENV.claudeEffort]: 'some' }, /^REVIEWLOOP_CLAUDE_EFFORT is not valid$/],
  [
    { ...MODEL, [ENV.claudeMaxTokens]: 'many', [ENV.claudeContextTokens]: '1' },
    /^REVIEWLOOP_CLAUDE_MAX_TOKENS is not valid, .*CONTEXT_TOKENS/,
  ],
])('what is wrong is named: %j', (environment, message) => {
  expect(() => readClaudeSettings(environment)).toThrow(message)
})

it('the key is that of the secret or of the environment, and Bedrock needs none', async () => {
  expect(await claudeKey({ ANTHROPIC_API_KEY: 'the-key-here' }, { provider: 'anthropic' })()).toBe('the-key-here')
  expect(() => claudeKey({}, { provider: 'anthropic' })).toThrow('ANTHROPIC_API_KEY is not set')
  expect(await claudeKey({}, { provider: 'bedrock' })()).toBe('')
})

it('every variable is described', () => {
  const page = readFileSync(new URL('../../docs/agents.md', import.meta.url), 'utf8')
  const names = Object.values(ENV).filter((name) => name.startsWith('REVIEWLOOP_CLAUDE_'))
  expect(names).toHaveLength(7)
  expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([])
})
