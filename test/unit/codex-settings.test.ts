/** Settings and key of the agent `codex`, from the environment. */
import { readFileSync } from 'node:fs'
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager'
import { describe, expect, it } from 'vitest'
import { codexKey } from '../../lib/agents/codex/key.ts'
import { readCodexSettings } from '../../lib/agents/codex/settings.ts'
import { redact } from '../../lib/loop/redact.ts'
import { ENV } from '../../lib/names.ts'

const MODEL = { [ENV.codexModel]: 'some-model' }

it('a model is all that has to be named', () => {
  expect(readCodexSettings(MODEL)).toEqual({
    model: 'some-model',
    baseUrl: 'https://api.openai.com/v1',
    effort: null,
    contextTokens: 200_000,
    prices: null,
  })
  const given = {
    ...MODEL,
    [ENV.codexBaseUrl]: 'https://models.example/v1/',
    [ENV.codexPrices]: '1.25/10/0.125/1.25',
    [ENV.codexEffort]: '',
  }
  expect(readCodexSettings(given)).toMatchObject({
    baseUrl: 'https://models.example/v1',
    effort: null,
    prices: { input: 1.25, output: 10, cacheRead: 0.125, cacheWrite: 1.25 },
  })
})

it.each([
  [{}, /^REVIEWLOOP_CODEX_MODEL is not set$/],
  [{ ...MODEL, [ENV.codexBaseUrl]: 'api.openai.com' }, /^REVIEWLOOP_CODEX_BASE_URL is not valid$/],
  [{ ...MODEL, [ENV.codexBaseUrl]: 'file:///etc/passwd' }, /^REVIEWLOOP_CODEX_BASE_URL is not valid$/],
  [{ ...MODEL, [ENV.codexEffort]: 'some' }, /^REVIEWLOOP_CODEX_EFFORT is not valid$/],
  [{ ...MODEL, [ENV.codexContextTokens]: '10' }, /^REVIEWLOOP_CODEX_CONTEXT_TOKENS is not valid$/],
  [{ ...MODEL, [ENV.codexPrices]: '3/15/0.3' }, /^REVIEWLOOP_CODEX_PRICES is not valid$/],
  [{ ...MODEL, [ENV.codexPrices]: '3/15//3.75' }, /^REVIEWLOOP_CODEX_PRICES is not valid$/],
  [{ [ENV.codexEffort]: 'x' }, /^REVIEWLOOP_CODEX_MODEL is not set, REVIEWLOOP_CODEX_EFFORT is not valid$/],
])('%j is refused by name', (environment, message) => {
  expect(() => readCodexSettings(environment)).toThrow(message)
})

it('every variable is described', () => {
  const page = readFileSync(new URL('../../docs/agents.md', import.meta.url), 'utf8')
  const names = Object.values(ENV).filter((name) => name.startsWith('REVIEWLOOP_CODEX_'))
  expect(names).toHaveLength(6)
  expect(names.filter((name) => !page.includes(`| \`${name}\` |`))).toEqual([])
})

describe('the key', () => {
  const secrets = (...answers: (string | Error)[]) => {
    const asked: unknown[] = []
    const send = async (command: { input: unknown }): Promise<unknown> => {
      asked.push(command.input)
      const answer = answers.shift()
      if (answer instanceof Error) throw answer
      return { SecretString: answer }
    }
    return { asked, client: { send } as unknown as Pick<SecretsManagerClient, 'send'> }
  }

  it('is the one of the laptop, where there is no secret', async () => {
    expect(await codexKey({ OPENAI_API_KEY: 'the-key-of-openai' })()).toBe('the-key-of-openai')
    expect(await codexKey({ OPENAI_API_KEY: 'the-key-of-openai', CODEX_API_KEY: 'the-key-of-codex' })()).toBe('the-key-of-codex')
    expect(() => codexKey({ OPENAI_API_KEY: '' })).toThrow('neither CODEX_API_KEY nor OPENAI_API_KEY is set')
    expect(redact('it was the-key-of-codex')).not.toContain('the-key-of-codex')
  })

  it('is the deployment’s secret before that: read once, when it is needed, and again where that failed', async () => {
    const { asked, client } = secrets(new Error('throttled'), ' the-key-in-the-secret\n')
    const key = codexKey({ [ENV.codexKeySecret]: 'arn:secret', OPENAI_API_KEY: 'another' }, client)
    expect(asked).toEqual([])
    await expect(key()).rejects.toThrow('could not be read')
    expect([await key(), await key()]).toEqual(['the-key-in-the-secret', 'the-key-in-the-secret'])
    expect(asked).toEqual([{ SecretId: 'arn:secret' }, { SecretId: 'arn:secret' }])
    expect(redact('it was the-key-in-the-secret')).not.toContain('the-key-in-the-secret')
  })

  it('is not an empty secret', async () => {
    await expect(codexKey({ [ENV.codexKeySecret]: 'arn:secret' }, secrets(' \n').client)()).rejects.toThrow('could not be read')
  })
})
