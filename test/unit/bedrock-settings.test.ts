/** Settings of the agent `bedrock`, from the environment. */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { readBedrockSettings } from '../../lib/agents/bedrock/settings.ts'
import { ENV } from '../../lib/names.ts'

const MODEL = { [ENV.bedrockModel]: 'some.model' }

it('a model is all that has to be named', () => {
  expect(readBedrockSettings(MODEL)).toEqual({
    model: 'some.model',
    region: null,
    effort: null,
    maxTokens: 16_000,
    contextTokens: 200_000,
    cache: '5m',
    strict: true,
    prices: null,
  })
  expect(readBedrockSettings({ ...MODEL, [ENV.bedrockRegion]: '', [ENV.bedrockPrices]: '3/15/0.3/3.75' })).toMatchObject({
    region: null,
    prices: { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
  })
})

it.each([
  [{}, /^REVIEWLOOP_BEDROCK_MODEL is not set$/],
  [{ ...MODEL, [ENV.bedrockMaxTokens]: 'many' }, /^REVIEWLOOP_BEDROCK_MAX_TOKENS is not valid$/],
  [{ ...MODEL, [ENV.bedrockContextTokens]: '10' }, /^REVIEWLOOP_BEDROCK_CONTEXT_TOKENS is not valid$/],
  [{ ...MODEL, [ENV.bedrockCache]: '2h' }, /^REVIEWLOOP_BEDROCK_CACHE is not valid$/],
  [{ ...MODEL, [ENV.bedrockStrict]: 'yes' }, /^REVIEWLOOP_BEDROCK_STRICT is not valid$/],
  [{ ...MODEL, [ENV.bedrockPrices]: '3/15/0.3' }, /^REVIEWLOOP_BEDROCK_PRICES is not valid$/],
  [{ ...MODEL, [ENV.bedrockPrices]: '3/15//3.75' }, /^REVIEWLOOP_BEDROCK_PRICES is not valid$/],
  [{ ...MODEL, [ENV.bedrockPrices]: '3/15/x/-1' }, /^REVIEWLOOP_BEDROCK_PRICES is not valid$/],
  [{ [ENV.bedrockCache]: 'x' }, /^REVIEWLOOP_BEDROCK_MODEL is not set, REVIEWLOOP_BEDROCK_CACHE is not valid$/],
])('%j is refused by name', (environment, message) => {
  expect(() => readBedrockSettings(environment)).toThrow(message)
})

it('every variable is described', () => {
  const page = readFileSync(new URL('../../docs/agents.md', import.meta.url), 'utf8')
  const names = Object.values(ENV).filter((name) => name.startsWith('REVIEWLOOP_BEDROCK_'))
  expect(names).toHaveLength(8)
  expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([])
})
