/** The environment of the command-line tool: how it reaches the model, and everything else that it would do switched off. */
import { join } from 'node:path'
import { defaultProvider } from '@aws-sdk/credential-provider-node'
import { type CliHome, openCliHome } from '../cli-home.ts'
import type { ClaudeSettings } from './settings.ts'

/** It calls the model and nobody else, keeps nothing of its own, and adds nothing to the conversation. */
const QUIET = [
  'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC',
  'CLAUDE_CODE_DISABLE_FEATURE_FLAGS',
  'CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL',
  'DISABLE_AUTOUPDATER',
  'DISABLE_UPDATES',
  'DISABLE_TELEMETRY',
  'DISABLE_ERROR_REPORTING',
  'DISABLE_GROWTHBOOK',
  'CLAUDE_CODE_DISABLE_ATTACHMENTS',
  'CLAUDE_CODE_DISABLE_FILE_MENTIONS',
  'CLAUDE_CODE_DISABLE_CLAUDE_MDS',
  'CLAUDE_CODE_DISABLE_AUTO_MEMORY',
  'CLAUDE_CODE_DISABLE_ORG_MEMORY',
  'CLAUDE_CODE_DISABLE_BUNDLED_SKILLS',
  'CLAUDE_CODE_DISABLE_POLICY_SKILLS',
  'CLAUDE_CODE_DISABLE_BACKGROUND_TASKS',
  'CLAUDE_CODE_DISABLE_CRON',
  'CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS',
  'CLAUDE_CODE_DISABLE_WEB_FETCH',
  // A conversation that it shortened would be another one; where it is too long, a fresh session follows.
  'DISABLE_COMPACT',
  'DISABLE_AUTO_COMPACT',
  // Or it asks Bedrock which other models there are.
  'CLAUDE_CODE_PROVIDER_MANAGED_BY_HOST',
  // Another model than the one that was asked for is none.
  'CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK',
  'CLAUDE_CODE_DISABLE_MODEL_ACCESS_FALLBACK',
]

/** Results are bounded by our tools; its own bound, in tokens, is above that. */
const RESULT_TOKENS = '200000'

/** Where it has a model of its own in mind, it means the one that it was given. */
const MODELS = ['SONNET', 'OPUS', 'HAIKU'].map((name) => `ANTHROPIC_DEFAULT_${name}_MODEL`)

/** Of our own environment, by provider: where a gateway stands in its place. */
const PASSED = { anthropic: ['ANTHROPIC_BASE_URL'], bedrock: ['ANTHROPIC_BEDROCK_BASE_URL'] } as const

const access = async ({ provider, region }: ClaudeSettings, key: () => Promise<string>): Promise<Record<string, string>> => {
  if (provider === 'anthropic') return { ANTHROPIC_API_KEY: await key() }
  // Its home is empty, so that it would find no profile: it is given what the profile comes to.
  const { accessKeyId, secretAccessKey, sessionToken } = await defaultProvider()()
  return {
    CLAUDE_CODE_USE_BEDROCK: '1',
    AWS_REGION: region ?? process.env['AWS_REGION'] ?? '',
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
    ...(sessionToken === undefined ? {} : { AWS_SESSION_TOKEN: sessionToken }),
  }
}

export interface SurroundingsOptions {
  key: () => Promise<string>
  /** Tries of a failed call beside the first. */
  retries: number
  /** The turn before was cut off within a call of the model. */
  interrupted: boolean
}

/** A home for one turn. Throws what keeps the key or the credentials from being read. */
export const openSurroundings = async (settings: ClaudeSettings, options: SurroundingsOptions): Promise<CliHome> => {
  const reach = await access(settings, options.key)
  return openCliHome({
    pass: PASSED[settings.provider],
    set: (folder) => ({
      CLAUDE_CONFIG_DIR: join(folder, 'claude'),
      ...Object.fromEntries(QUIET.map((name) => [name, '1'])),
      ...Object.fromEntries(MODELS.map((name) => [name, settings.model])),
      CLAUDE_CODE_MAX_RETRIES: String(options.retries),
      MAX_MCP_OUTPUT_TOKENS: RESULT_TOKENS,
      ...(settings.maxTokens === null ? {} : { CLAUDE_CODE_MAX_OUTPUT_TOKENS: String(settings.maxTokens) }),
      ...(options.interrupted ? { CLAUDE_CODE_RESUME_INTERRUPTED_TURN: '1' } : {}),
      ...reach,
    }),
  })
}
